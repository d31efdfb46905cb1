package import Foundation
import Glibc
import Synchronization

/// A server on 127.0.0.1 that speaks HTTP/1.1, and responds as a closure says.
package final class LoopbackServer: Sendable {
  /// A request as it has arrived; names of header fields are in lower case.
  package struct Request: Sendable {
    package let method: String
    package let target: String
    package let headers: [String: String]
    package let body: String
    /// From 1, over all connections.
    package let number: Int
  }

  /// What the server does about a request.
  package enum Response: Sendable {
    case status(Int, headers: [String: String] = [:], body: String = "")
    /// Closes the connection without a response.
    case cut
    /// Says nothing until the client closes the connection.
    case silence

    package static let user = Response.status(200, body: #"{"data":{"name":"Wei"}}"#)
  }

  package let url: URL
  private let listener: Int32
  private let state = Mutex<(requests: [Request], closed: Int)>(([], 0))
  private let respond: @Sendable (Request) -> Response

  /// Everything that has arrived.
  package var requests: [Request] { state.withLock { $0.requests } }

  package init(_ respond: @escaping @Sendable (Request) -> Response) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutableBytes(of: &address) { bytes in
      let pointer = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
      return bind(listener, pointer, size) == 0 && listen(listener, 64) == 0
        && getsockname(listener, pointer, &size) == 0
    }
    guard isListening, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/graphql") else {
      throw POSIXError(.EADDRNOTAVAIL)
    }
    self.url = url
    self.listener = listener
    self.respond = respond
    Thread.detachNewThread { [weak self] in
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        Thread.detachNewThread { [weak self] in
          Self.serve(client) { self?.response(to: $0, $1, $2, $3) ?? .cut }
        }
      }
    }
  }

  deinit {
    // Ends the wait for connections, too.
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  private func response(to method: String, _ target: String, _ headers: [String: String], _ body: String) -> Response {
    let request = state.withLock { state in
      let request = Request(
        method: method, target: target, headers: headers, body: body, number: state.requests.count + 1)
      state.requests.append(request)
      return request
    }
    return respond(request)
  }

  private static func serve(
    _ client: Int32, _ respond: (String, String, [String: String], String) -> Response
  ) {
    defer { close(client) }
    var bytes: [UInt8] = []
    while let (method, target, headers) = readHead(client, &bytes) {
      let count = headers["content-length"].flatMap { Int($0) } ?? 0
      while bytes.count < count { if !read(client, into: &bytes) { return } }
      let body = String(decoding: bytes.prefix(count), as: UTF8.self)
      bytes.removeFirst(count)
      switch respond(method, target, headers, body) {
      case .cut: return
      case .silence:
        while read(client, into: &bytes) {}
        return
      case .status(let status, let fields, let body):
        var head =
          "HTTP/1.1 \(status) Status\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        let text = Array((head + "\r\n" + body).utf8)
        guard send(client, text, text.count, Int32(MSG_NOSIGNAL)) == text.count else { return }
      }
    }
  }

  private static func readHead(
    _ client: Int32, _ bytes: inout [UInt8]
  ) -> (method: String, target: String, headers: [String: String])? {
    let end = Array("\r\n\r\n".utf8)
    while bytes.firstRange(of: end) == nil { if !read(client, into: &bytes) { return nil } }
    guard let range = bytes.firstRange(of: end) else { return nil }
    let lines = String(decoding: bytes[..<range.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    bytes.removeSubrange(..<range.upperBound)
    let words = lines[0].split(separator: " ").map(String.init)
    guard words.count == 3 else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    return (words[0], words[1], headers)
  }

  /// Reads more; false once the client has closed the connection.
  private static func read(_ client: Int32, into bytes: inout [UInt8]) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = recv(client, &buffer, buffer.count, 0)
    guard count > 0 else { return false }
    bytes += buffer[..<count]
    return true
  }
}
