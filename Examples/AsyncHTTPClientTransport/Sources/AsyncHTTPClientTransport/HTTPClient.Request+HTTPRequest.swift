import AsyncHTTPClient
import Foundation
import HTTPClientCore
import NIOCore
import NIOFoundationCompat
import NIOHTTP1

extension HTTPClient.Request {
  /// The request for the client. Throws if a header would frame the message, which is the client's task.
  init(_ request: HTTPRequest) throws {
    try request.checkFraming()
    var headers = NIOHTTP1.HTTPHeaders(request.headers.map { ($0.name, $0.value) })
    headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
    try self.init(
      url: request.url, method: HTTPMethod(rawValue: request.method.rawValue), headers: headers,
      body: request.body.map { body in .stream(contentLength: Int64(body.count)) { $0.write(inPieces: body) } })
  }
}

extension HTTPClient.Body.StreamWriter {
  /// The client tells of whole pieces alone that they are sent, which is what progress is made of.
  fileprivate func write(inPieces body: Data) -> EventLoopFuture<Void> {
    let piece = body.prefix(256 << 10)
    return write(.byteBuffer(ByteBuffer(data: piece))).flatMapWithEventLoop { _, loop in
      guard piece.count < body.count else { return loop.makeSucceededVoidFuture() }
      // By way of the loop, for the stack would grow with the body.
      return loop.flatSubmit { write(inPieces: body.dropFirst(piece.count)) }
    }
  }
}
