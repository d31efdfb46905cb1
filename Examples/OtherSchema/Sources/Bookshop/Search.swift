/// What is looked for, and in which order: all that a page of results depends on.
public struct Search: Hashable, Sendable {
  /// What stands in a title or an author's name.
  public let text: String
  /// The order; the server's own unless given.
  public let sort: SearchBooksSession.Sort?

  /// Makes a search.
  public init(_ text: String, sort: SearchBooksSession.Sort? = nil) {
    self.text = text
    self.sort = sort
  }
}
