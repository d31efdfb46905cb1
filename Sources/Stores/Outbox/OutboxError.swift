import GraphQLClient
public import HTTPClientCore
public import SystemBase

/// Why an outbox did not send a submitted mutation, or does not know its outcome. Cases may be added.
@nonexhaustive
public enum OutboxError: Error, Hashable, Sendable {
  /// The mutation is on disk, and will be sent later; the error says why it was not sent now.
  case queued(because: RequestError)

  /// Another process has sent the mutation; its response is not known here.
  case sentElsewhere

  /// Another process has sent the mutation, and the server has refused it, for this reason.
  case refusedElsewhere(String)

  /// The mutation was discarded while it waited, here or in another process; see ``Outbox/discard(_:)``.
  case discarded

  /// The mutation cannot be read back from disk, because its decoder refuses what its encoder has written, for example,
  /// and is not sent; ``Outbox/discard(id:)`` removes it.
  case unreadable(UnreadableOutboxEntry)

  /// The mutation is larger on disk than an entry may be, both in bytes; it was not queued, and is not sent.
  case tooLarge(size: Int, limit: Int)

  /// Another process was sending for longer than the lock timeout; nothing was sent.
  case busy

  /// The outbox's account was signed out.
  case signedOut

  /// The outbox was closed before the mutation was submitted, which was not queued, and is not sent.
  case closed

  /// Another outbox of the folder and partition is open in this process: of two, each would take what the other sends
  /// for another process's.
  case alreadyOpen
}

extension OutboxError: CustomStringConvertible {
  /// One line for people.
  public var description: String {
    switch self {
    case .queued(let error): "The change is queued, and will be sent later: \(error)"
    case .sentElsewhere: "Another process has sent the change."
    case .refusedElsewhere(let reason): "Another process has sent the change, and it was refused: \(reason)"
    case .discarded: "The change was discarded."
    case .unreadable(let entry): "The change cannot be read back, and is not sent: discard \(entry.id)."
    case .tooLarge(let size, let limit): "The change takes \(size) bytes, more than the \(limit) that are kept."
    case .busy: "Another process is sending what waits: try again, or with a longer lockTimeout."
    case .signedOut: "The outbox's account was signed out."
    case .closed: "The outbox is closed: the change was not kept."
    case .alreadyOpen:
      "An outbox of this folder and partition is open in this process: use that one, or close it first."
    }
  }
}

extension OutboxError: LocalizedError {
  /// What `localizedDescription` gives: `description`.
  public var errorDescription: String? { description }
}

/// What a failed attempt means for the entry. What the server said of the exchange, its status, comes before what it
/// said of the operation: a gateway that limits rates or is down may well respond in GraphQL.
enum OutboxVerdict {
  /// It certainly did not reach the server, or was rejected unprocessed.
  case notSent

  /// It may have reached the server, which may have carried it out.
  case mayHaveBeenSent

  /// Something must change first, such as the token or a setting, or the server's certificate is not valid.
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
