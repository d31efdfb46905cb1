/// A page of the books that a search found.
public struct BookPage: Decodable, Hashable, Sendable {
  /// The books, in the order asked for.
  public let books: [Book]
  /// Where the next page begins; `nil` on the last one.
  public let next: String?

  /// Makes a page from its fields.
  public init(books: [Book], next: String?) {
    self.books = books
    self.next = next
  }
}
