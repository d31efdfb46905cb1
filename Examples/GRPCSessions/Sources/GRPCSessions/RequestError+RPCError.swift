public import GRPCCore
import GraphQLClient
public import HTTPClientCore

extension RequestError.Kind {
  /// The service responded with a status of gRPC that no other kind stands for; the cause is an `RPCError`, and `status`
  /// is HTTP's for it.
  public static let gRPC = Self("gRPC")
}

extension RequestError {
  /// An error of a call, for what handles errors of requests: a `Store`, for example, which keeps what it has in an
  /// outage, and an app that asks to sign in if `isUnauthenticated`.
  public init(gRPC error: any Error) {
    guard let error = error as? RPCError else {
      self.init(wrapping: error)
      return
    }
    let kind: Kind =
      switch error.code {
      case .cancelled: .cancelled
      case .deadlineExceeded: .timedOut
      case .unavailable: .connectionLost
      case .resourceExhausted: .rateLimited
      default: .gRPC
      }
    self.init(kind, "\(error.code): \(error.message)", status: error.code.httpStatus, cause: error)
  }
}

extension RPCError {
  /// The error that a service responds with if the request failed that it made itself.
  public init(request error: any Error) {
    let error = RequestError(wrapping: error)
    if let error = error.cause as? RPCError {
      self = error
      return
    }
    let code: RPCError.Code =
      switch error.kind {
      case .cancelled: .cancelled
      case .timedOut: .deadlineExceeded
      case .overloaded, .rateLimited: .resourceExhausted
      case _ where error.isUnauthenticated: .unauthenticated
      case _ where error.isForbidden: .permissionDenied
      case _ where error.status == 404: .notFound
      case _ where error.isOutage: .unavailable
      default: .internalError
      }
    // Not the excerpt, and not the cause: what the backend said is not for the service's callers.
    self.init(code: code, message: "\(error.operationName ?? "The request") failed: \(error.kind)")
  }
}

extension RPCError.Code {
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
    default: nil
    }
  }
}
