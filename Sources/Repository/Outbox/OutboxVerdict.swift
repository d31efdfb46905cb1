import HTTP
import Networking

/// What a failed attempt means for the entry. What the server said of the exchange, its status, comes before what it
/// said of the operation: a gateway that limits rates or is down may well answer in GraphQL.
enum OutboxVerdict {
  /// It certainly did not reach the server, or was rejected unprocessed.
  case notSent

  /// It may have reached the server, which may have carried it out.
  case mayHaveBeenSent

  /// Something must change first, such as the token or a setting, or the server could not be trusted.
  case blocked

  /// The server has refused it, or the failure is unknown: another attempt would end the same way.
  case refused

  init(_ error: RequestError, isIdempotent: Bool) {
    self =
      switch (error.reached, error.kind, error.status ?? 0) {
      case (.never, .invalidRequest, _): error.cause is WrongSettings ? .blocked : .refused
      case (.never, _, _): .notSent
      case (.rejected, _, _): error.isUnauthenticated || error.cause is TokenRefreshFailure ? .blocked : .notSent
      // The error came from inside the mutation's result, after it was carried out.
      case _ where error.isUnauthenticated: isIdempotent ? .blocked : .mayHaveBeenSent
      case (_, _, 408), (_, _, 500...): .mayHaveBeenSent
      case (_, .cannotConnect, _), (_, .connectionLost, _), (_, .timedOut, _), (_, .cancelled, _): .mayHaveBeenSent
      // For example a proxy's page with status 200: the server may have got the request, or not.
      case (_, .badResponse, _), (_, .undecodable, _): .mayHaveBeenSent
      case (_, .insecure, _), (_, .redirectRefused, _): .blocked
      default: .refused
      }
  }
}
