import Foundation
import Synchronization

/// A line to a server on this machine, which passes on what comes from there some bytes at a time.
final class SlowLine: Sendable {
  let port: Int
  private let listener: Int32
  private let isStopped = Atomic(false)

  init(to server: Int, bytes: Int, each seconds: Double) throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var (address, length) = (Self.address(0), socklen_t(MemoryLayout<sockaddr_in>.size))
    let descriptor = listener
    let port = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer -> Bool in
        bind(descriptor, pointer, length) == 0 && listen(descriptor, 16) == 0
          && getsockname(descriptor, pointer, &length) == 0
      }
    }
    guard port else { throw POSIXError(.EADDRNOTAVAIL) }
    self.port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread { [self] in
      while !isStopped.load(ordering: .relaxed) {
        let client = accept(descriptor, nil, nil)
        guard client >= 0 else { return }
        let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(server)
        _ = withUnsafePointer(to: &address) { address in
          address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(other, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
          }
        }
        Thread.detachNewThread { Self.pass(from: client, to: other, 65_536, 0) }
        Thread.detachNewThread { Self.pass(from: other, to: client, bytes, seconds) }
      }
    }
  }

  func stop() {
    isStopped.store(true, ordering: .relaxed)
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  private static func pass(from source: Int32, to target: Int32, _ count: Int, _ pause: Double) {
    var buffer = [UInt8](repeating: 0, count: count)
    while true {
      let got = read(source, &buffer, count)
      if got <= 0 { break }
      if pause > 0 { Thread.sleep(forTimeInterval: pause) }
      if send(target, buffer, got, Int32(MSG_NOSIGNAL)) <= 0 { break }
    }
    shutdown(source, Int32(SHUT_RDWR))
    shutdown(target, Int32(SHUT_RDWR))
  }

  private static func address(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}
