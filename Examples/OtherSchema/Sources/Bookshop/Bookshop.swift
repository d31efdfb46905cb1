public import Models
public import Networking
import Repository
public import Streams

/// A shop's books: what a search finds is kept, so that screens can watch it.
public struct Bookshop: Sendable {
  private let client: APIClient
  private let searches: Store<Search, BookPage>

  /// Asks a server through a client.
  public init(client: APIClient) {
    self.client = client
    searches = Store { search in
      SearchBooksSession(text: search.text, sort: search.sort).data(on: client).map(\.searchBooks)
    }
  }

  /// The latest first page of a search, and each new one. It asks no server.
  public func results(of search: Search) -> Observable<BookPage> { searches.values(search) }

  /// Looks for books, and tells who watches the search.
  public func search(_ search: Search) -> Observable<BookPage> { searches.fresh(search) }

  /// Reserves a book.
  public func reserve(isbn: String, note: GraphQLNullable<String> = .absent) -> Observable<Book> {
    ReserveSession(isbn: isbn, note: note).data(on: client).map(\.reserve)
  }
}
