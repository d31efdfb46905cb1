import HTTP
import Repository

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
    case let error as RequestError:
      let excerpt = error.excerpt.map { " (the response begins: \($0))" } ?? ""
      return (error.kind.description, error.message + excerpt)
    default: return ("unknown", String(describing: error))
    }
  }
}
