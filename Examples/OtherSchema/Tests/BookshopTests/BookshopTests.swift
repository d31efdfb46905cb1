import Bookshop
import Foundation
import HTTP
import Models
import Networking
import NetworkingTesting
import Streams
import Testing

struct BookshopTests {
  private let transport = ScriptedTransport()
  private let shop: Bookshop

  init() throws {
    let url = try #require(URL(string: "https://books.example/graphql"))
    shop = Bookshop(client: try APIClient(baseURL: url, transport: transport))
  }

  private let answer = """
    {"data": {"searchBooks": {"next": null, "books": [
      {"isbn": "0-201-03801-3", "title": "計算機程序設計藝術", "publishedAt": "1968-01-01T00:00:00.25+01:00",
       "priceInCents": 4200, "note": null}]}}}
    """

  @Test func `a search is decoded, and told to who watches its text`() async throws {
    transport.expect(.operation("searchBooks"), .json(answer))
    let page = try await shop.search("Knuth").value
    #expect(page.books.map(\.isbn) == ["0-201-03801-3"])
    #expect(page.books[0].publishedAt.timeIntervalSince1970 == -63_162_000 + 0.25)
    #expect(try await shop.results(for: "Knuth").value == page)
    #expect(transport.failures.isEmpty)
  }

  @Test(arguments: [
    (GraphQLNullable<String>.absent, #""variables":{"isbn":"1"}"#),
    (.null, #""variables":{"isbn":"1","note":null}"#),
    (.some("for Mei"), #""variables":{"isbn":"1","note":"for Mei"}"#),
  ])
  func `an absent note, a null one and a text are told apart`(
    note: GraphQLNullable<String>, variables: String
  ) async throws {
    transport.expect(.operation("reserve"), .json(#"{"errors": [{"message": "sold out"}], "data": null}"#))
    let error = await #expect(throws: RequestError.self) { try await shop.reserve(isbn: "1", note: note).value }
    #expect(error?.kind == .graphQL)
    #expect(error?.graphQLErrors.map(\.message) == ["sold out"])
    let body = try #require(transport.requests.first?.body)
    #expect(String(decoding: body, as: UTF8.self).contains(variables))
  }
}
