public import GraphQLClient
public import Models

/// Searches for books.
public struct SearchBooksSession: GraphQLSession {
  /// The orders that the server supports.
  public enum Sort: String, Encodable, Sendable {
    /// By title.
    case title = "TITLE"
    /// By price, lowest first.
    case price = "PRICE"
  }

  /// The variables of the query.
  public struct Variables: Encodable, Sendable {
    let text: String
    let sort: Sort?
    let after: String?
  }

  /// The response of the query.
  public struct ResponseData: Decodable, Sendable {
    /// The page.
    public let searchBooks: BookPage
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

  /// The variables of this search.
  public let variables: Variables

  /// Searches for books by title or author, starting at the page `after`.
  public init(text: String, sort: Sort? = nil, after: String? = nil) {
    variables = Variables(text: text, sort: sort, after: after)
  }
}
