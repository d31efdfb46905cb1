/// An HTTP method: a token, case-sensitive (RFC 9110, section 9.1).
public struct HTTPMethod: Hashable, Sendable, CustomStringConvertible {
  /// The method as it is sent.
  public let rawValue: String

  /// Takes a method; throws `invalidRequest` if it is not a token, or is `CONNECT`, which only a transport sends, for a
  /// tunnel, or `TRACE`, by which a server would repeat the request's credentials.
  public init(_ rawValue: String) throws(RequestError) {
    guard rawValue.isToken else {
      throw RequestError(.invalidRequest, "'\(rawValue)' is not an HTTP method: use letters, as in GET or POST.")
    }
    guard rawValue != "CONNECT", rawValue != "TRACE" else {
      throw RequestError(.invalidRequest, "'\(rawValue)' is not a method for requests to a server.")
    }
    self.rawValue = rawValue
  }

  private init(known: StaticString) {
    rawValue = "\(known)"
  }

  /// `GET`
  public static let get = HTTPMethod(known: "GET")
  /// `HEAD`
  public static let head = HTTPMethod(known: "HEAD")
  /// `POST`
  public static let post = HTTPMethod(known: "POST")
  /// `PUT`
  public static let put = HTTPMethod(known: "PUT")
  /// `PATCH`
  public static let patch = HTTPMethod(known: "PATCH")
  /// `DELETE`
  public static let delete = HTTPMethod(known: "DELETE")
  /// `OPTIONS`
  public static let options = HTTPMethod(known: "OPTIONS")

  /// The method as it is sent.
  public var description: String { rawValue }

  /// Whether it only reads, so that a request may be sent again without harm: `GET`, `HEAD` and `OPTIONS` (RFC 9110,
  /// section 9.2.1; `TRACE` cannot be made).
  public var isSafe: Bool { self == .get || self == .head || self == .options }
}
