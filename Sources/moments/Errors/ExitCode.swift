import HTTP
import Networking
import Repository

/// The command's exit codes: those of BSD's sysexits.h, and 130 as shells have it.
enum ExitCode: Int32, Sendable {
  case success = 0

  /// The command line or the environment is wrong.
  case usage = 64

  /// The response cannot be used (GraphQL errors, not decodable, too large, or a status that is not listed below); or
  /// nothing is cached, and no request was to be made.
  case unusableAnswer = 65

  /// The server was not reached, or the exchange was not completed: refused, reset, timed out, redirected, not tried
  /// after repeated failures, status 429, 5xx, or one that does not exist (600 and above), which RFC 9110, section 15
  /// counts as a 5xx.
  case unreachable = 69

  /// The results could not be written, or the cache folder cannot be used.
  case outputFailed = 74

  /// The server refused access: status 401 or 403, or a GraphQL error with the code `UNAUTHENTICATED`.
  case notAllowed = 77

  /// Ctrl-C.
  case cancelled = 130

  /// The exit code for an error.
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
    if error.kind == .cancelled {
      self = .cancelled
    } else if error.isUnauthenticated || error.status == 403 && error.kind != .cannotConnect {
      self = .notAllowed
    } else if error.status == 429 || error.status ?? 0 >= 500 {
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
