public import HTTPClientCore
public import StrictJSON
import SystemBase

/// The condition by which an expectation selects requests.
public struct RequestMatcher: Sendable, CustomStringConvertible {
  /// Its name in failures.
  public let description: String

  private let isMatch: @Sendable (HTTPRequest) -> Bool

  /// Takes a name for failures, and the condition.
  public init(_ description: String, isMatch: @escaping @Sendable (HTTPRequest) -> Bool) {
    self.description = description
    self.isMatch = isMatch
  }

  /// Whether a request fulfils the condition.
  public func matches(_ request: HTTPRequest) -> Bool { isMatch(request) }

  /// Every request.
  public static let any = RequestMatcher("any request") { _ in true }

  /// Requests for an operation.
  public static func operation(_ name: String) -> RequestMatcher {
    RequestMatcher("operation \(name)") { $0.operationName == name }
  }

  /// Requests for a GraphQL operation with exactly these variables, in the body or, for `GET`, in the query:
  /// `.operation("getUser", variables: ["id": "7"])`.
  public static func operation(_ name: String, variables: JSONValue) -> RequestMatcher {
    RequestMatcher("operation \(name) with \(variables)") {
      $0.operationName == name && $0.graphQLMember("variables") == variables
    }
  }

  /// Requests with a method and a path, as in the URL: percent-encoded and without the query.
  public static func path(_ method: HTTPMethod, _ path: String) -> RequestMatcher {
    RequestMatcher("\(method) \(path)") { $0.method == method && $0.url.path(percentEncoded: true) == path }
  }
}
