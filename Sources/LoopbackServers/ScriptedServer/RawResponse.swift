/// A response to put on the wire, right or wrong as it may be: nothing is checked.
package struct RawResponse: Sendable {
  package var status: Int
  package var headers: [(name: String, value: String)]
  package var body: [UInt8]

  /// A response whose body is JSON unless another content type is given; nil sends none.
  package init(
    _ status: Int = 200, contentType: String? = "application/json", headers: [(name: String, value: String)] = [],
    body: [UInt8]
  ) {
    self.status = status
    self.headers = (contentType.map { [("Content-Type", $0)] } ?? []) + headers
    self.body = body
  }

  package init(
    _ status: Int = 200, contentType: String? = "application/json", headers: [(name: String, value: String)] = [],
    body: String = ""
  ) {
    self.init(status, contentType: contentType, headers: headers, body: [UInt8](body.utf8))
  }

  /// The response with a `Content-Length`, save where the status forbids one.
  package var bytes: [UInt8] {
    let hasNoBody = (100..<200).contains(status) || status == 204 || status == 304
    return head(adding: hasNoBody ? [] : [("Content-Length", "\(body.count)")]) + body
  }

  /// The response with a `Content-Length` that may be another than the body's.
  package func bytes(contentLength: Int) -> [UInt8] {
    head(adding: [("Content-Length", "\(contentLength)")]) + body
  }

  /// The response as one that ends when the connection does.
  package var bytesUntilClose: [UInt8] {
    head(adding: [("Connection", "close")]) + body
  }

  /// The response in chunks of at most this size.
  package func chunked(size: Int, trailers: [(name: String, value: String)] = []) -> [UInt8] {
    var bytes = unfinishedChunks(size: size) + [UInt8]("0\r\n".utf8)
    for (name, value) in trailers { bytes += [UInt8]("\(name): \(value)\r\n".utf8) }
    return bytes + [UInt8]("\r\n".utf8)
  }

  /// The response in chunks, without the last chunk that says that it is whole.
  package func unfinishedChunks(size: Int) -> [UInt8] {
    var bytes = head(adding: [("Transfer-Encoding", "chunked")])
    for start in stride(from: 0, to: body.count, by: size) {
      let chunk = body[start..<min(start + size, body.count)]
      bytes += [UInt8]("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [UInt8]("\r\n".utf8)
    }
    return bytes
  }

  private func head(adding added: [(name: String, value: String)]) -> [UInt8] {
    let lines = (headers + added).map { "\($0.name): \($0.value)\r\n" }
    return [UInt8]("HTTP/1.1 \(status) Status\r\n\(lines.joined())\r\n".utf8)
  }
}
