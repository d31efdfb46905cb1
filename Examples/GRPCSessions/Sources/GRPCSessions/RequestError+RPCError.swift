public import GRPCCore
import GraphQLClient
public import HTTPClientCore
public import MomentsService

extension RequestError {
  /// An error of a call; the cause of a status is the `RPCError`.
  public init(gRPC error: any Error) {
    guard let error = error as? RPCError else {
      self.init(wrapping: error)
      return
    }
    let code = GRPCStatus.Code(rawValue: error.code.rawValue) ?? .unknown
    self.init(GRPCStatus(code, error.message), cause: error)
  }
}

extension RPCError {
  /// The error that a service responds with if the request failed that it made itself.
  public init(request error: any Error) {
    let error = RequestError(wrapping: error)
    if let error = error.cause as? RPCError {
      self = error
      // In the metadata of a response that is only a head are HTTP's fields, too, which the next head must not repeat.
      for name in [":status", "content-type"] { metadata.removeAllValues(forKey: name) }
      return
    }
    if let status = error.cause as? GRPCStatus {
      self.init(code: RPCError.Code(status.code), message: status.message)
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
  /// The same code.
  public init(_ code: GRPCStatus.Code) {
    self = Status.Code(rawValue: code.rawValue).flatMap { Self($0) } ?? .unknown
  }
}
