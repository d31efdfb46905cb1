import HTTP
import Repository

/// What the command says of an error: `moments: KIND: message`, in one line that can do a terminal no harm.
struct ErrorLine: CustomStringConvertible {
  let description: String

  /// A line of some 2,000 characters at most, whatever a server put into the error.
  init(_ error: any Error) {
    let (kind, message) = Self.parts(of: error)
    description = "moments: \(kind): \(message)".harmless(upTo: 2_000)
  }

  private static func parts(of error: any Error) -> (kind: String, message: String) {
    switch error {
    case let error as UsageError: return ("wrong usage", error.message)
    case let error as OutputError: return ("cannot write", error.message)
    case StoreError.notCached:
      return ("not cached", "the cache has no such timeline; ask the server with another --policy, or none")
    case let error as OutboxError: return ("outbox", error.description)
    case let error as CacheFolderError:
      return ("cannot write", "the cache folder '\(error.path)' cannot be used: \(error.cause)")
    case let error as FileError: return ("cannot write", "the cache folder cannot be used: \(error)")
    case is CancellationError: return ("cancelled", "interrupted by Ctrl-C")
    case let error as RequestError:
      let excerpt = error.excerpt.map { " (the answer begins: \($0))" } ?? ""
      return (error.kind.description, error.message + excerpt)
    default: return ("unknown", String(describing: error))
    }
  }
}
