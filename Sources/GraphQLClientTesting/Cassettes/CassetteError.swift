public import SystemBase

/// Why a cassette cannot be written or read: what, where, and what to do.
public struct CassetteError: Error, Hashable, Sendable {
  /// What went wrong. Cases may be added, so a `switch` over them needs a `default`.
  @nonexhaustive
  public enum Kind: Hashable, Sendable {
    /// The value of a secret stands in what would be written; nothing was written.
    case holdsSecret
    /// A body cannot be searched for secrets; nothing was written.
    case unreadable
    /// A response was larger than the limit of the recording; nothing was written.
    case tooLarge
    /// The file is not a cassette, or a body beside it is not the recorded one.
    case damaged
    /// A later version of this module has written the file.
    case newerFormat
    /// The system cannot read a file.
    case cannotRead
    /// The system cannot write a file.
    case cannotWrite
  }

  /// What went wrong.
  public let kind: Kind
  /// The path to the place in the cassette, such as `exchanges[2].response.body.json.token`, or the name of a file
  /// beside it; empty if it is the whole file.
  public let place: String
  /// One line for people, which names the place, and never the secret.
  public let message: String

  init(_ kind: Kind, at place: String = "", _ message: String) {
    self.kind = kind
    self.place = place
    self.message = message
  }
}

extension CassetteError: CustomStringConvertible, LocalizedError {
  /// The message.
  public var description: String { message }

  /// What `localizedDescription` gives: `description`.
  public var errorDescription: String? { message }
}
