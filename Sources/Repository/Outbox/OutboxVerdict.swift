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
      switch (error.kind, error.status ?? 0) {
      case _ where error.isCertainlyUnsent: .notSent
      // A refresh happens before the request, or after the server has rejected it.
      case _ where error.status == 401 || error.isOfRefresh: .blocked
      case _ where error.graphQLErrors.contains(where: \.isUnauthenticated):
        // An error from inside the mutation's result came after it was carried out.
        !isIdempotent && error.graphQLErrors.contains { $0.path.count > 1 } ? .mayHaveBeenSent : .blocked
      // The server has refused the request for its rate, or as too early, and not carried it out (RFC 6585, section 4;
      // RFC 8470, section 5.2).
      case (_, 429), (_, 425): .notSent
      case (_, 408), (_, 500...): .mayHaveBeenSent
      case (.connectionLost, _), (.timedOut, _), (.badResponse, _), (.cancelled, _): .mayHaveBeenSent
      // For example a proxy's page with status 200: the server may have got the request, or not.
      case (.undecodable, _): .mayHaveBeenSent
      case (.insecure, _), (.redirectRefused, _): .blocked
      case (.invalidRequest, _) where error.cause is WrongSettings: .blocked
      default: .refused
      }
  }
}
