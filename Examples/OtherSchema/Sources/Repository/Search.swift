public import Networking

/// A search text and an order: everything that a page of results depends on.
public struct Search: Hashable, Sendable {
  /// The text to look for in titles and authors' names.
  public let text: String
  /// The order; by default, the server's.
  public let sort: SearchBooksSession.Sort?

  /// Makes a search.
  public init(_ text: String, sort: SearchBooksSession.Sort? = nil) {
    self.text = text
    self.sort = sort
  }
}
