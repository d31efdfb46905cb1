import GraphQLClient
import Streams

/// What an application sees of the shop: the sessions are generated in each build.
struct Bookshop {
  let findBooks: any FindBooksSessionType
  let reviewBook: any ReviewBookSessionType

  /// The titles of the books that are bound to last, the best ones first.
  func hardcovers(about word: String) -> Observable<[String]> {
    findBooks.findBooks(word: word).map { data in
      data.books.filter { $0.binding == .hardcover }.sorted { $0.stars ?? 0 > $1.stars ?? 0 }.map(\.title)
    }
  }
}

extension Bookshop {
  init(client: APIClient) {
    self.init(findBooks: FindBooksSession(client: client), reviewBook: ReviewBookSession(client: client))
  }
}
