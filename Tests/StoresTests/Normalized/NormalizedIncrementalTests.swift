import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import StoresTestSupport
import Streams
import SystemBase
import Testing

@testable import Stores

/// Responses that come in parts, on their way into the records.
@Suite struct NormalizedIncrementalTests {
  private struct GetIssuePage: GraphQLSession {
    struct ResponseData: Codable, Hashable, Sendable {
      struct Issue: Codable, Hashable, Sendable {
        struct Label: Codable, Hashable, Sendable { var text: String? }
        struct Author: Codable, Hashable, Sendable { var name: String? }
        var title: String?
        var author: Author?
        var labels: [Label]?
      }
      var issue: Issue?
    }
    static let query: GraphQLDocument = """
      query page {
        issue(id: "1") { title ... @defer { author { name } } labels @stream(initialCount: 1) { text } }
      }
      """
  }

  /// The same selection without directives.
  private struct GetWholePage: GraphQLSession {
    typealias ResponseData = GetIssuePage.ResponseData
    static let query: GraphQLDocument = "query whole { issue(id: \"1\") { title author { name } labels { text } } }"
  }

  /// With a fragment that has a label.
  private struct GetLabelledPage: GraphQLSession {
    struct ResponseData: Decodable, Hashable, Sendable {
      struct Issue: Decodable, Hashable, Sendable {
        var title: String?
        var details: Deferred<Details>
      }
      struct Details: Decodable, Hashable, Sendable {
        struct Author: Decodable, Hashable, Sendable { var name: String? }
        var author: Author?
      }
      var issue: Issue?
    }
    static let query: GraphQLDocument = """
      query labelled { issue(id: "1") { title ...details @defer(label: "details") } }
      fragment details on Issue { author { name } }
      """
  }

  private let transport = ScriptedTransport()

  private func store() throws -> NormalizedStore {
    let client = try APIClient(baseURL: #require(URL(string: "http://127.0.0.1/graphql")), transport: transport)
    return NormalizedStore(client, schema: try RecordSchema(NormalizedWorld.schema))
  }

  private func expect(_ operation: String, _ payloads: String...) {
    let parts = payloads.map { "\r\n---\r\nContent-Type: application/json\r\n\r\n\($0)" }.joined() + "\r\n-----\r\n"
    transport.expect(
      .operation(operation),
      .response(headers: ["Content-Type": "multipart/mixed; boundary=\"-\""], body: Data(parts.utf8)))
  }

  private static let first = """
    {"data": {"issue": {"__typename": "Issue", "id": "1", "title": "a", "labels": [{"__typename": "Label", "text": "x"}]}}, \
    "pending": [{"id": "0", "path": ["issue"]}, {"id": "1", "path": ["issue", "labels"]}], "hasNext": true}
    """
  private static let author = """
    {"incremental": [{"id": "0", "data": {"author": {"__typename": "User", "id": "7", "name": "u"}}}], \
    "completed": [{"id": "0"}], "hasNext": true}
    """
  private static let labels = """
    {"incremental": [{"id": "1", "items": [{"__typename": "Label", "text": "y"}]}], "completed": [{"id": "1"}], \
    "hasNext": false}
    """

  @Test func `a response in parts ends in the same records as one without`() async throws {
    let store = try store()
    expect("page", Self.first, Self.author, Self.labels)
    let page = try await store.get(GetIssuePage()).value.value
    #expect(page?.issue?.author?.name == "u")
    #expect(page?.issue?.labels?.map(\.text) == ["x", "y"])
    #expect(store.peek(GetWholePage())?.value == page)
    #expect(store.records.withLock { $0.cache.entity("User", id: "7") } != nil)
    #expect(transport.failures.isEmpty)
  }

  @Test func `a response whose parts end too early leaves nothing`() async throws {
    let store = try store()
    expect("page", Self.first, Self.author)
    await #expect(throws: RequestError.self) { try await store.get(GetIssuePage()).value }
    #expect(store.peek(GetWholePage()) == nil)
  }

  @Test func `a fragment with a label is read from the records as one that is ready`() async throws {
    let store = try store()
    expect(
      "labelled",
      #"{"data": {"issue": {"__typename": "Issue", "id": "1", "title": "a"}}, "#
        + #""pending": [{"id": "0", "path": ["issue"], "label": "details"}], "hasNext": true}"#,
      #"{"incremental": [{"id": "0", "data": {"author": {"__typename": "User", "id": "7", "name": "u"}}}], "#
        + #""completed": [{"id": "0"}], "hasNext": false}"#)
    let page = try await store.get(GetLabelledPage()).value.value
    #expect(page?.issue?.details == .ready(.init(author: .init(name: "u"))))
    #expect(store.peek(GetLabelledPage())?.value == page)
    // What another operation brings of it shows in it.
    transport.expect(
      .operation("user"), .json(#"{"data": {"viewer": {"__typename": "User", "id": "7", "name": "v"}}}"#))
    _ = try await store.get(GetViewerName()).value
    #expect(store.peek(GetLabelledPage())?.value?.issue?.details == .ready(.init(author: .init(name: "v"))))
  }

  private struct GetViewerName: GraphQLSession {
    struct ResponseData: Decodable, Sendable {
      struct User: Decodable, Sendable { var name: String? }
      var viewer: User?
    }
    static let query: GraphQLDocument = "query user { viewer { name } }"
  }
}
