public import GraphQLClient
public import Models

/// Puts a book on the reader's list.
public struct ReserveSession: GraphQLSession {
  /// The variables of the mutation.
  public struct Variables: Encodable, Sendable {
    let isbn: String
    let note: GraphQLNullable<String>
  }

  /// The response of the mutation.
  public struct ResponseData: Decodable, Sendable {
    /// The book.
    public let reserve: Book
  }

  /// The document.
  public static let query: GraphQLDocument = """
    mutation reserve($isbn: ID!, $note: String) {
      reserve(isbn: $isbn, note: $note) { isbn title publishedAt priceInCents note }
    }
    """

  /// The variables of this reservation.
  public let variables: Variables

  /// Reserves a book; the note is kept (`absent`), removed (`null`) or replaced.
  public init(isbn: String, note: GraphQLNullable<String> = .absent) {
    variables = Variables(isbn: isbn, note: note)
  }
}
