extension RequestError {
  /// A kind of failure, for programs to switch on. Kinds may be added: a `switch` over them needs a `default`.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The kind's name, as logs and command lines show it.
    public let description: String

    /// Makes a kind; for layers that know failures of their own.
    public init(_ name: StaticString) {
      description = "\(name)"
    }

    /// The request cannot be sent as it is: a URL, a header or a method is not valid, or not allowed.
    public static let invalidRequest = Kind("invalid request")

    /// No connection: no such host, refused, unreachable.
    public static let cannotConnect = Kind("cannot connect")

    /// The secure connection could not be made, or the server is not who it should be.
    public static let insecure = Kind("secure connection failed")

    /// The connection ended before the whole answer had arrived.
    public static let connectionLost = Kind("connection lost")

    /// A deadline passed; the message names which.
    public static let timedOut = Kind("timed out")

    /// The answer is not HTTP, or in a form that was not asked for.
    public static let badResponse = Kind("bad response")

    /// The answer's status is not one of success; `status` holds it.
    public static let httpStatus = Kind("HTTP status")

    /// The server sent the client elsewhere, and the client does not follow.
    public static let redirectRefused = Kind("redirect refused")

    /// The answer is larger than the limit.
    public static let tooLarge = Kind("too large")

    /// The answer cannot be put into its file.
    public static let cannotWrite = Kind("cannot write")

    /// The answer cannot be read as what was asked for; the message names the path in it.
    public static let undecodable = Kind("not decodable")

    /// The request was cancelled.
    public static let cancelled = Kind("cancelled")

    /// None of the others; see `cause`.
    public static let unknown = Kind("unknown")
  }
}
