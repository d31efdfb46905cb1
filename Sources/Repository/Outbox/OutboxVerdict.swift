import HTTP
import Networking

/// What a failed attempt means for the entry.
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
      switch error.kind {
      case _ where error.isCertainlyUnsent: .notSent
      // A refresh happens before the request, or after the server has rejected it.
      case _ where error.status == 401 || error.isOfRefresh: .blocked
      case .connectionLost, .timedOut, .badResponse, .cancelled: .mayHaveBeenSent
      // For example a proxy's page with status 200: the server may have got the request, or not.
      case .undecodable: .mayHaveBeenSent
      case .insecure, .redirectRefused: .blocked
      case .invalidRequest where error.cause is WrongSettings: .blocked
      // The server has refused the request for its rate, and not carried it out (RFC 6585, section 4).
      case .httpStatus where error.status == 429: .notSent
      case .httpStatus where error.isTransient || (error.status ?? 0) >= 500: .mayHaveBeenSent
      case .graphQL where error.graphQLErrors.contains(where: \.isUnauthenticated):
        // An error from inside the mutation's result came after it was carried out.
        !isIdempotent && error.graphQLErrors.contains { $0.path.count > 1 } ? .mayHaveBeenSent : .blocked
      default: .refused
      }
  }
}
