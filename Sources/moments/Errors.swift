import CommandLineBase
import HTTPClientCore
import Networking
import Repository

/// The command's exit codes: those of BSD's sysexits.h, and 129, 130 and 143 as shells have them.
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

  /// The server refused access: status 401 or 403, or a GraphQL error with the code `UNAUTHENTICATED`, or a WebSocket that
  /// was closed with 4401 or 4403.
  case notAllowed = 77

  /// SIGHUP: the terminal is gone.
  case hungUp = 129

  /// Ctrl-C.
  case cancelled = 130

  /// SIGTERM.
  case terminated = 143

  /// The exit code for an error.
  init(_ error: any Error) {
    self =
      switch error {
      case let error as ToldError: ExitCode(error.cause)
      case is UsageError: .usage
      case is OutputError, is CacheFolderError, is FileError: .outputFailed
      case is CancellationError: .cancelled
      case Termination.asked: .terminated
      case Termination.hungUp: .hungUp
      case let error as RequestError: ExitCode(error)
      default: .unusableAnswer
      }
  }

  private init(_ error: RequestError) {
    if error.kind == .cancelled {
      self = .cancelled
    } else if error.isUnauthenticated || error.status == 403 && ![.cannotConnect, .rateLimited].contains(error.kind)
      || (error.cause as? LiveClosure)?.code == 4403
    {
      self = .notAllowed
    } else if error.kind == .rateLimited || error.status == 429 || error.status ?? 0 >= 500 {
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

/// An error as the command prints it: `moments: KIND: message`, on one line that is safe for terminals.
struct ErrorLine: CustomStringConvertible {
  let description: String

  /// Makes a line of about 2,000 characters at most, however long the server's message is.
  init(_ error: any Error) {
    let (kind, message) = Self.parts(of: error)
    description = "moments: \(kind): \(message)".sanitized(upTo: 2_000)
  }

  private static func parts(of error: any Error) -> (kind: String, message: String) {
    switch error {
    case let error as UsageError: return ("wrong usage", error.message)
    case let error as OutputError: return ("cannot write", error.message)
    case StoreError.notCached:
      return ("not cached", "the timeline is not in the cache; use another --policy, or none, to request it")
    case let error as OutboxError: return ("outbox", error.description)
    case let error as CacheFolderError:
      return ("cannot write", "the cache folder '\(error.path)' cannot be used: \(error.cause)")
    case let error as FileError: return ("cannot write", "the cache folder cannot be used: \(error)")
    case is CancellationError: return ("cancelled", "interrupted by Ctrl-C")
    case Termination.asked: return ("cancelled", "terminated by SIGTERM")
    case Termination.hungUp: return ("cancelled", "terminated by SIGHUP")
    case let error as RequestError:
      let excerpt = error.excerpt.map { " (the response begins: \($0))" } ?? ""
      return (error.kind.description, error.message + excerpt)
    default: return ("unknown", String(describing: error))
    }
  }
}

/// An error that was already printed; it only determines the exit code.
struct ToldError: Error {
  let cause: any Error
}

/// The run was ended by a signal that is not Ctrl-C's.
enum Termination: Error {
  /// By SIGTERM.
  case asked
  /// By SIGHUP: the terminal is gone.
  case hungUp
}

/// The folder of `--cache-dir` cannot be opened.
struct CacheFolderError: Error {
  let path: String
  let cause: FileError
}
