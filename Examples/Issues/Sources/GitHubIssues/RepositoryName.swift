/// A repository's name: `owner/name`.
package struct RepositoryName: Hashable, Sendable, LosslessStringConvertible {
  /// The user or the organisation.
  package let owner: String
  /// The repository.
  package let name: String

  /// Takes `owner/name`; `nil` for anything else.
  package init?(_ description: String) {
    let parts = description.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
    (owner, name) = (parts[0], parts[1])
  }

  /// The name as it was given.
  package var description: String { "\(owner)/\(name)" }
}
