extension RequestError {
  /// A kind of failure, for programs to switch on. Kinds may be added: a `switch` over them needs a `default`.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The kind's name, as logs and command lines show it.
    public let description: String

    /// Makes a kind, for layers that have failures of their own.
    public init(_ name: StaticString) {
      description = "\(name)"
    }

    /// The request cannot be sent as it is: a URL, a header or a method is not valid, or not allowed.
    public static let invalidRequest = Kind("invalid request")

    /// There is no connection: unknown host, refused, or unreachable.
    public static let cannotConnect = Kind("cannot connect")

    /// The secure connection could not be made, or the server could not be verified.
    public static let insecure = Kind("secure connection failed")

    /// The connection ended before the whole response had arrived.
    public static let connectionLost = Kind("connection lost")

    /// A deadline passed; the message names which.
    public static let timedOut = Kind("timed out")

    /// The response is not HTTP, or in a form that was not asked for.
    public static let badResponse = Kind("bad response")

    /// The status of the response does not mean success; `status` holds it.
    public static let httpStatus = Kind("HTTP status")

    /// The server redirected the request, and the redirect is not followed.
    public static let redirectRefused = Kind("redirect refused")

    /// The response is larger than the limit.
    public static let tooLarge = Kind("too large")

    /// The response cannot be written to its file.
    public static let cannotWrite = Kind("cannot write")

    /// The response cannot be decoded as the expected type; the message names the path in it.
    public static let undecodable = Kind("not decodable")

    /// The request was cancelled.
    public static let cancelled = Kind("cancelled")

    /// The process was forked from one in which a transport had run, and cannot send requests: it has no threads for
    /// it. Start processes with `posix_spawn`, `exec` or Foundation's `Process`, or fork before the first request.
    public static let forkedProcess = Kind("forked process")

    /// None of the others; see `cause`.
    public static let unknown = Kind("unknown")
  }
}
