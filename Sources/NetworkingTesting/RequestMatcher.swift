import Foundation
public import HTTP

/// Which requests an expectation is about.
public struct RequestMatcher: Sendable, CustomStringConvertible {
  /// What failures call it.
  public let description: String

  private let isMatch: @Sendable (HTTPRequest) -> Bool

  /// Takes a name for failures, and the condition.
  public init(_ description: String, isMatch: @escaping @Sendable (HTTPRequest) -> Bool) {
    self.description = description
    self.isMatch = isMatch
  }

  /// Whether a request is meant.
  public func matches(_ request: HTTPRequest) -> Bool { isMatch(request) }

  /// Every request.
  public static let any = RequestMatcher("any request") { _ in true }

  /// Requests for an operation.
  public static func operation(_ name: String) -> RequestMatcher {
    RequestMatcher("operation \(name)") { $0.operationName == name }
  }

  /// Requests with a method to a path, as the URL has it: percent-encoded and without the query.
  public static func path(_ method: HTTPMethod, _ path: String) -> RequestMatcher {
    RequestMatcher("\(method) \(path)") { $0.method == method && $0.url.path(percentEncoded: true) == path }
  }
}
