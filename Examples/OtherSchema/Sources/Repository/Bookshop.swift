public import GraphQLClient
public import Models
import Networking
import Stores
public import Streams

/// A bookshop. It keeps the results of searches, so that screens can watch them.
public struct Bookshop: Sendable {
  private let client: APIClient
  private let searches: Store<Search, BookPage>

  /// Sends requests through a client.
  public init(client: APIClient) {
    self.client = client
    searches = Store(
      .ofStream { search in
        SearchBooksSession(text: search.text, sort: search.sort).data(on: client).map(\.searchBooks)
      })
  }

  /// The latest first page of a search, and each new one. It sends no request.
  public func results(of search: Search) -> Observable<BookPage> { searches.values(search) }

  /// Searches for books, and updates everyone who watches the search.
  public func search(_ search: Search) -> Observable<BookPage> { searches.fresh(search) }

  /// Reserves a book.
  public func reserve(isbn: String, note: GraphQLNullable<String> = .absent) -> Observable<Book> {
    ReserveSession(isbn: isbn, note: note).data(on: client).map(\.reserve)
  }
}
