import BenchmarkSupport
import Foundation

/// The least that a client can do: threads that write to a socket and read from it, without parsing anything.
enum Blocking {
  static func measure(_ load: Load) throws -> LoadResult {
    guard let url = URLComponents(string: load.url), let port = url.port else { throw URLError(.badURL) }
    let head = "POST \(url.path) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: \(load.size)\r\n\r\n"
    let request = Array(head.utf8) + [UInt8](repeating: 0, count: load.size)
    let (start, begin) = (ContinuousClock.now, processorTime())
    let lock = NSLock()
    nonisolated(unsafe) var latencies: [Duration] = []  // guarded by the lock
    // Not `concurrentPerform`, which would run no more of them at a time than there are cores.
    let group = DispatchGroup()
    for _ in 0..<load.width {
      group.enter()
      Thread.detachNewThread {
        let own = exchange(request, port: UInt16(port), load)
        lock.withLock { latencies += own }
        group.leave()
      }
    }
    group.wait()
    return LoadResult(latencies.sorted(), time: .now - start, processor: processorTime() - begin)
  }

  private static func exchange(_ request: [UInt8], port: UInt16, _ load: Load) -> [Duration] {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { return [] }
    var on: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    var size: Int?
    var latencies: [Duration] = []
    let end = ContinuousClock.now + .seconds(load.seconds)
    while true {
      let start = ContinuousClock.now
      if start > end { return latencies }
      var sent = 0
      while sent < request.count {
        sent += request[sent...].withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      }
      var received = 0
      repeat {
        let count = recv(socket, &buffer, buffer.count, 0)
        guard count > 0 else { return latencies }
        received += count
        if size == nil, let end = buffer[..<count].firstRange(of: Array("\r\n\r\n".utf8)) {
          size = end.upperBound + load.size
        }
      } while received < size ?? .max
      latencies.append(.now - start)
    }
  }
}
