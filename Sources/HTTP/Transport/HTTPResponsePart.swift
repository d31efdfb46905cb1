public import Foundation

/// A part of a response: first one head, then any number of pieces of the body, none of them empty.
public enum HTTPResponsePart: Hashable, Sendable {
  /// The final head; interim responses (1xx) are left out.
  case head(HTTPResponseHead)

  /// The next piece of the body, with transfer and content codings removed.
  case body(Data)
}

extension HTTPResponse {
  /// The response as the parts that a transport sends: for a middleware that answers itself, or has read a response.
  public var parts: [HTTPResponsePart] { body.isEmpty ? [.head(head)] : [.head(head), .body(body)] }
}

extension HTTPResponsePart {
  /// Whether it is a head with which the total deadline of a request stops counting.
  func mayOutlastTotal(of request: HTTPRequest) -> Bool {
    if case .head(let head) = self { request.mayOutlastTotal(head) } else { false }
  }
}
