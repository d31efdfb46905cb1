import Foundation
public import Streams

extension Observable where Element == HTTPResponsePart {
  /// Combines the parts of a response into one value, with a limit on the bytes of the body.
  ///
  /// Fails with `tooLarge`, and stops the exchange, as soon as the body exceeds the limit; fails with `badResponse` if
  /// there is no head.
  public func collect(upTo limit: Int) -> Observable<HTTPResponse> {
    reduce(into: ResponseCollector(limit: limit)) {
      try $0.add($1)
    } finishing: {
      try $0.finish()
    }
  }
}

/// Collects the parts of one response.
private struct ResponseCollector: Sendable {
  let limit: Int
  private var head: HTTPResponseHead?
  private var body = Data()

  init(limit: Int) {
    self.limit = limit
  }

  mutating func add(_ part: HTTPResponsePart) throws(RequestError) {
    switch part {
    case .head(let head):
      self.head = head
    case .body(let piece):
      guard piece.count <= limit - body.count else {
        throw RequestError(.tooLarge, "The response is larger than \(limit) bytes: ask for less, or raise the limit.")
      }
      // Most responses are a single piece, which is not copied.
      if body.isEmpty { body = piece } else { body.append(piece) }
    }
  }

  func finish() throws(RequestError) -> HTTPResponse {
    guard let head else { throw RequestError(.badResponse, "The transport gave a response without a head.") }
    return HTTPResponse(head: head, body: body)
  }
}
