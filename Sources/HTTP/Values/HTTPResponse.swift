public import Foundation

/// A whole answer: head and body.
public struct HTTPResponse: Hashable, Sendable {
  /// The status and the header fields.
  public var head: HTTPResponseHead

  /// The whole body, empty where there is none.
  public var body: Data

  /// Makes an answer.
  public init(head: HTTPResponseHead, body: Data = Data()) {
    self.head = head
    self.body = body
  }

  /// Makes an answer of its parts.
  public init(status: Int, headers: HTTPHeaders = HTTPHeaders(), body: Data = Data()) {
    self.init(head: HTTPResponseHead(status: status, headers: headers), body: body)
  }
}
