import Foundation
import GraphQLClient
import GraphQLClientTesting
import GraphQLSchema
import GraphQLTesting
import HTTP
import HTTPClientCore
import JSON
import Models
import Networking
import Repository
import Streams
import Testing

struct BookshopTests {
  private let transport = ScriptedTransport()
  private let shop: Bookshop

  init() throws {
    let url = try #require(URL(string: "https://books.example/graphql"))
    shop = Bookshop(client: try .bookshop(at: url, transport: transport))
  }

  @Test func `the sessions agree with the schema`() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../schema.graphql")
    let check = SessionCheck(try Schema(parsing: String(contentsOf: file, encoding: .utf8)))
    let search = SearchBooksSession(text: "Knuth", sort: .price, after: "2")
    #expect(check.findings(in: SearchBooksSession.self, variables: [search.variables]) == [])
    let notes: [GraphQLNullable<String>] = [.absent, .null, .some("Read it again.")]
    let reservations = notes.map { ReserveSession(isbn: "0-201-03801-3", note: $0).variables }
    #expect(check.findings(in: ReserveSession.self, variables: reservations) == [])
  }

  @Test func `a search is decoded, and delivered to its watchers`() async throws {
    transport.expect(.operation("searchBooks"), .json(Samples.search))
    let page = try await shop.search(Search("Knuth")).value
    #expect(page.books.map(\.isbn) == ["0-201-03801-3"])
    #expect(page.books[0].publishedAt.timeIntervalSince1970 == -63_162_000 + 0.25)
    #expect(try await shop.results(of: Search("Knuth")).value == page)
    #expect(transport.failures.isEmpty)
  }

  @Test func `searches in two orders are two`() async throws {
    let sorted = Samples.search.replacing("4200", with: "4300")
    for answer in [Samples.search, sorted] { transport.expect(.operation("searchBooks"), .json(answer)) }
    let (byText, byPrice) = (Search("Knuth"), Search("Knuth", sort: .price))
    let pages = [try await shop.search(byText).value, try await shop.search(byPrice).value]
    #expect(pages.map { $0.books[0].priceInCents } == [4_200, 4_300])
    #expect(try await shop.results(of: byText).value == pages[0])
    #expect(try await shop.results(of: byPrice).value == pages[1])
    #expect(transport.failures.isEmpty)
  }

  @Test(arguments: [
    (GraphQLNullable<String>.absent, #""variables":{"isbn":"1"}"#),
    (.null, #""variables":{"isbn":"1","note":null}"#),
    (.some("for Mei"), #""variables":{"isbn":"1","note":"for Mei"}"#),
  ])
  func `an absent note, a null one and a text are distinguished`(
    note: GraphQLNullable<String>, variables: String
  ) async throws {
    transport.expect(.operation("reserve"), .json(Samples.soldOut))
    let error = await #expect(throws: RequestError.self) { try await shop.reserve(isbn: "1", note: note).value }
    #expect(error?.kind == .graphQL)
    #expect(error?.graphQLErrors.map(\.message) == ["sold out"])
    let body = try #require(transport.requests.first?.body)
    #expect(String(decoding: body, as: UTF8.self).contains(variables))
  }
}
