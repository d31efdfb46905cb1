public import HTTPClientCore

/// The status that a call of gRPC has failed with.
public struct GRPCStatus: Error, Hashable {
  /// The code; the one of success, 0, is none of a failure.
  public let code: Code

  /// What the service says about it.
  public let message: String

  /// Makes a status.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The codes (gRPC, "Status codes and their use").
  public enum Code: Int, Sendable {
    case cancelled = 1, unknown, invalidArgument, deadlineExceeded, notFound, alreadyExists, permissionDenied
    case resourceExhausted, failedPrecondition, aborted, outOfRange, unimplemented, internalError, unavailable, dataLoss
    case unauthenticated
  }
}

extension RequestError.Kind {
  /// The service responded with a status of gRPC that no other kind stands for; the cause has its code, and `status` is
  /// HTTP's for it.
  public static let gRPC = Self("gRPC")
}

extension RequestError {
  /// A status for what handles errors of requests: a `Store`, for example, which keeps what it has in an outage, and an app
  /// that asks to sign in if `isUnauthenticated`. The cause is the status, unless another one says more.
  public init(_ status: GRPCStatus, cause: (any Error)? = nil) {
    let kind: Kind =
      switch status.code {
      case .cancelled: .cancelled
      case .deadlineExceeded: .timedOut
      case .unavailable: .connectionLost
      case .resourceExhausted: .rateLimited
      default: .gRPC
      }
    self.init(kind, "\(status.code): \(status.message)", status: status.code.httpStatus, cause: cause ?? status)
  }
}

extension GRPCStatus.Code {
  /// HTTP's status of the same meaning, as google.rpc.Code has it; none for what ends without a response.
  fileprivate var httpStatus: Int? {
    switch self {
    case .invalidArgument, .failedPrecondition, .outOfRange: 400
    case .unauthenticated: 401
    case .permissionDenied: 403
    case .notFound: 404
    case .alreadyExists, .aborted: 409
    case .resourceExhausted: 429
    case .unknown, .internalError, .dataLoss: 500
    case .unimplemented: 501
    case .cancelled, .deadlineExceeded, .unavailable: nil
    }
  }
}
