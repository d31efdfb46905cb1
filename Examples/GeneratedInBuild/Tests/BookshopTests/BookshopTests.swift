import Foundation
import GraphQLClient
import GraphQLSchema
import GraphQLTesting
import Streams
import StrictJSON
import Testing

@testable import Bookshop

@Suite struct BookshopTests {
  private static let schema = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Sources/Bookshop/schema.graphql")

  @Test func `the sessions of the build run on a server with their schema`() async throws {
    let server = TestServer(schema: try Schema(parsing: String(contentsOf: Self.schema, encoding: .utf8)))
    try server.resolve("Query.books") { request in
      let title = "All about \(request.arguments["word"]?.stringValue ?? "")"
      return [
        ["title": .string(title), "binding": "HARDCOVER"], ["title": "A short history", "binding": "PAPERBACK"],
      ]
    }
    try server.resolve("Mutation.review") { ["id": $0.arguments["book"] ?? .null, "stars": 4.5] }
    let shop = Bookshop(
      client: try APIClient(baseURL: #require(URL(string: "https://books.example/graphql")), transport: server))
    #expect(try await shop.hardcovers(about: "tea").value == ["All about tea"])
    let reviewed = try await shop.reviewBook.reviewBook(book: "1", stars: 4).value
    #expect(reviewed.review?.stars == 4.5)
  }

  @Test func `a test makes a session's values by itself`() async throws {
    let book = BookFields(id: "1", title: "Tea", authors: ["Wei"], binding: .known(.hardcover), stars: 5)
    let shop = Bookshop(findBooks: Books(books: [book]), reviewBook: ReviewBookSession { _ in .never() })
    #expect(try await shop.hardcovers(about: "tea").value == ["Tea"])
  }
}

/// Finds the same books, whatever is asked for.
private struct Books: FindBooksSessionType {
  let books: [BookFields]

  func findBooks(word: String) -> Observable<FindBooksSession.ResponseData> {
    .just(FindBooksSession.ResponseData(books: books))
  }
}
