/// What went wrong with a request: the one error that transports, middlewares, clients and sessions send.
///
/// The kind tells what to do about it, the message what happened, where, and what may help. Text that came from a
/// server is bounded, freed of what the request kept secret, and made harmless for terminals and logs.
public struct RequestError: Error {
  /// What kind of failure it is, for programs to switch on.
  public var kind: Kind

  /// One line for people: what happened, where, and what to do.
  public var message: String

  /// The operation that failed, such as `getMomentsDetailsByUserID`, where it is known.
  public var operationName: String?

  /// The HTTP status of the answer, where there was one.
  public var status: Int?

  /// The start of the answer's body, at most 512 bytes of it, where it helps to see it.
  public var excerpt: String?

  /// The error behind this one.
  public var cause: (any Error)?

  /// Whether it is the refresh of a token that failed: the request itself was not sent, or was turned down before.
  package var isOfRefresh = false

  /// Makes an error; the message is cut at 1,024 bytes and the excerpt at 512, and their control characters are made
  /// visible.
  public init(
    _ kind: Kind, _ message: String, operationName: String? = nil, status: Int? = nil, excerpt: String? = nil,
    cause: (any Error)? = nil
  ) {
    self.kind = kind
    self.message = message.harmless(upTo: 1024)
    self.operationName = operationName
    self.status = status
    self.excerpt = excerpt?.harmless(upTo: 512)
    self.cause = cause
  }

  /// The same error, under the name of an operation unless it has one.
  public func named(_ operationName: String?) -> RequestError {
    var named = self
    named.operationName = self.operationName ?? operationName
    return named
  }

  /// The given error where it is of this type; else one of the kind `cancelled` or `unknown` that has it as its cause.
  public init(wrapping error: any Error) {
    self =
      switch error {
      case let error as RequestError: error
      case is CancellationError: RequestError(.cancelled, "The request was cancelled.", cause: error)
      default: RequestError(.unknown, String(describing: error), cause: error)
      }
  }
}

extension RequestError: CustomStringConvertible {
  /// The operation, the kind and the message in one line.
  public var description: String {
    let operation = operationName.map { "\($0.harmless(upTo: 128)): " } ?? ""
    let excerpt = excerpt.map { " The answer begins: \($0)" } ?? ""
    return "\(operation)\(kind): \(message)\(excerpt)"
  }
}
