public import Foundation

/// A book on sale.
public struct Book: Decodable, Hashable, Sendable {
  /// Identifies the book.
  public let isbn: String
  /// The title.
  public let title: String
  /// When it came out.
  public let publishedAt: Date
  /// The price.
  public let priceInCents: Int
  /// What the reader wrote about it.
  public let note: String?

  /// Makes a book from its fields.
  public init(isbn: String, title: String, publishedAt: Date, priceInCents: Int, note: String? = nil) {
    self.isbn = isbn
    self.title = title
    self.publishedAt = publishedAt
    self.priceInCents = priceInCents
    self.note = note
  }
}
