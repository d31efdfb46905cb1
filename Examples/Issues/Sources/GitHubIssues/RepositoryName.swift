/// A repository's name: `owner/name`.
public struct RepositoryName: Hashable, Sendable, LosslessStringConvertible {
  /// The user or the organisation.
  public let owner: String
  /// The repository.
  public let name: String

  /// Takes `owner/name`; `nil` for anything else.
  public init?(_ description: String) {
    let parts = description.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
    (owner, name) = (parts[0], parts[1])
  }

  /// The name as it was given.
  public var description: String { "\(owner)/\(name)" }
}
