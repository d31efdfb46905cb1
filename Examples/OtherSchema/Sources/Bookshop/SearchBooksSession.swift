import Models
public import Networking

/// Looks for books.
public struct SearchBooksSession: GraphQLSession {
  /// The orders that the server knows.
  public enum Sort: String, Encodable, Sendable {
    /// By title.
    case title = "TITLE"
    /// The cheapest first.
    case price = "PRICE"
  }

  /// What the query takes.
  public struct Variables: Encodable, Sendable {
    let text: String
    let sort: Sort?
    let after: String?
  }

  /// What the query gives.
  public struct ResponseData: Decodable, Sendable {
    let searchBooks: BookPage
  }

  /// The document.
  public static let query: GraphQLDocument = """
    query searchBooks($text: String!, $sort: Sort, $after: String) {
      searchBooks(text: $text, sort: $sort, after: $after) {
        books { isbn title publishedAt priceInCents note }
        next
      }
    }
    """

  /// What this search takes.
  public let variables: Variables

  /// Looks for books by title or author, from the page `after` on.
  public init(text: String, sort: Sort? = nil, after: String? = nil) {
    variables = Variables(text: text, sort: sort, after: after)
  }
}
