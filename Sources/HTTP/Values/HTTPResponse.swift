public import Foundation

/// A complete response: head and body.
public struct HTTPResponse: Hashable, Sendable {
  /// The status and the header fields.
  public var head: HTTPResponseHead

  /// The whole body; empty if there is none.
  public var body: Data

  /// Makes a response.
  public init(head: HTTPResponseHead, body: Data = Data()) {
    self.head = head
    self.body = body
  }

  /// Makes a response from a status, header fields and a body.
  public init(status: Int, headers: HTTPHeaders = HTTPHeaders(), body: Data = Data()) {
    self.init(head: HTTPResponseHead(status: status, headers: headers), body: body)
  }
}
