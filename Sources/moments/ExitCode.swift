import HTTP
import Networking
import Repository

/// How the command ends, for whoever started it: the numbers of BSD's sysexits.h, and a shell's 130.
enum ExitCode: Int32, Sendable {
  case success = 0

  /// The command line, or a variable of the environment, is not right.
  case usage = 64

  /// The answer cannot be used: GraphQL errors, not decodable, too large, or a status that is not named below. Or there is
  /// none: nothing is cached, and nobody else was to be asked.
  case unusableAnswer = 65

  /// The server was not reached, or not to the end: refused, reset, timed out, redirected, let alone after failures, status
  /// 429 or 5xx.
  case unreachable = 69

  /// The results could not be written, or the cache folder cannot be used.
  case outputFailed = 74

  /// The server does not allow it: status 401 or 403, or a GraphQL error with the code `UNAUTHENTICATED`.
  case notAllowed = 77

  /// Ctrl-C.
  case cancelled = 130

  /// The exit code for an error, whatever threw it.
  init(_ error: any Error) {
    self =
      switch error {
      case let error as ToldError: ExitCode(error.cause)
      case is UsageError: .usage
      case is OutputError, is CacheFolderError, is FileError: .outputFailed
      case is CancellationError: .cancelled
      case let error as RequestError: ExitCode(error)
      default: .unusableAnswer
      }
  }

  private init(_ error: RequestError) {
    let isUnauthenticated = error.graphQLErrors.contains(where: \.isUnauthenticated)
    if error.kind == .cancelled {
      self = .cancelled
    } else if [401, 403].contains(error.status) || isUnauthenticated {
      self = .notAllowed
    } else if error.status == 429 || (500...599).contains(error.status ?? 0) {
      self = .unreachable
    } else {
      self =
        switch error.kind {
        case .cannotConnect, .connectionLost, .timedOut, .redirectRefused, .insecure, .circuitOpen, .overloaded:
          .unreachable
        case .invalidRequest: .usage
        default: .unusableAnswer
        }
    }
  }
}
