import HTTP
import Networking

/// What a failed attempt means for what was to be sent.
enum OutboxVerdict {
  /// It did not reach the server, for certain, or was turned down unseen.
  case notSent

  /// It may have reached the server, which may have carried it out.
  case mayHaveBeenSent

  /// Something else is needed first, such as a new token or other settings, or the server is not who it should be.
  case blocked

  /// The server has said no, or nobody knows what went wrong: another attempt would end the same.
  case refused

  init(_ error: RequestError) {
    self =
      switch error.kind {
      case .cannotConnect, .circuitOpen, .overloaded: .notSent
      case .timedOut where error.cause is NothingWasSent: .notSent
      // A refresh that fails comes before the request, or after the server has turned that down.
      case _ where error.status == 401 || error.isOfRefresh: .blocked
      case .connectionLost, .timedOut, .badResponse, .cancelled: .mayHaveBeenSent
      // A page of a proxy, say, with status 200: the server itself may have been asked, or not.
      case .undecodable: .mayHaveBeenSent
      case .insecure, .redirectRefused: .blocked
      case .invalidRequest where error.cause is WrongSettings: .blocked
      // The server turns down what is too much for it, and carries none of it out (RFC 6585, section 4).
      case .httpStatus where error.status == 429: .notSent
      case .httpStatus where error.isTransient || (error.status ?? 0) >= 500: .mayHaveBeenSent
      case .graphQL where error.graphQLErrors.contains(where: \.isUnauthenticated): .blocked
      default: .refused
      }
  }
}
