import Foundation
import Glibc

/// The least that a client can do: it writes the same frame to a socket again and again, and reads as many bytes as the echo
/// has, without parsing anything.
enum BlockingClient {
  static func echo(_ count: Int, _ text: String, at url: URL) throws {
    let socket = try connect(to: UInt16(url.port ?? 0))
    defer { close(socket) }
    let upgrade = """
      GET \(url.path()) HTTP/1.1\r
      Host: 127.0.0.1\r
      Connection: Upgrade\r
      Upgrade: websocket\r
      Sec-WebSocket-Version: 13\r
      Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
      \r

      """
    try write(Array(upgrade.utf8), to: socket)
    var head = ""
    while !head.hasSuffix("\r\n\r\n") { head += String(decoding: try read(1, from: socket), as: UTF8.self) }
    // Masked with zeros, the text stays as it is.
    let frame = [0x81, 0x80 | UInt8(text.utf8.count), 0, 0, 0, 0] + Array(text.utf8)
    for _ in 0..<count {
      try write(frame, to: socket)
      _ = try read(2 + text.utf8.count, from: socket)
    }
  }

  private static func connect(to port: UInt16) throws -> Int32 {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw URLError(.cannotConnectToHost) }
    var on: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
    return socket
  }

  private static func write(_ bytes: [UInt8], to socket: Int32) throws {
    let count = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    guard count == bytes.count else { throw URLError(.networkConnectionLost) }
  }

  private static func read(_ count: Int, from socket: Int32) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let received = recv(socket, &bytes, count, Int32(MSG_WAITALL))
    guard received == count else { throw URLError(.networkConnectionLost) }
    return bytes
  }
}
