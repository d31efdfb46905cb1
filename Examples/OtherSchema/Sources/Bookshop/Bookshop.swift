public import Models
public import Networking
import Repository
public import Streams

/// A shop's books: searches are kept under their text, so that screens can watch them.
public struct Bookshop: Sendable {
  private let client: APIClient
  private let searches: Store<String, BookPage>

  /// Asks a server through a client.
  public init(client: APIClient) {
    self.client = client
    searches = Store { text in SearchBooksSession(text: text).data(on: client).map(\.searchBooks) }
  }

  /// The latest first page for a text, and each new one.
  public func results(for text: String) -> Observable<BookPage> {
    searches.stream(text, .cacheOnly).compactMap(\.value)
  }

  /// Looks for books, and tells who watches the text.
  public func search(_ text: String, sort: SearchBooksSession.Sort? = nil) -> Observable<BookPage> {
    SearchBooksSession(text: text, sort: sort).data(on: client)
      .map(\.searchBooks)
      .do(onNext: { [searches] in searches.save($0, for: text) })
  }

  /// Reserves a book.
  public func reserve(isbn: String, note: GraphQLNullable<String> = .absent) -> Observable<Book> {
    ReserveSession(isbn: isbn, note: note).data(on: client).map(\.reserve)
  }
}
