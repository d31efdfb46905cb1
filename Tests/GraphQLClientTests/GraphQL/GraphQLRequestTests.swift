import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StrictJSON
import Testing

@Suite struct GraphQLRequestTests {
  private let transport = ScriptedTransport(always: .wholeThing)

  @Test func `a query is posted as JSON with document and operation`() async throws {
    #expect(try await GetThing().post(on: client(transport)).value.data == .whole)
    let request = try #require(transport.onlyRequest)
    #expect(request.method == .post)
    #expect(request.url.absoluteString == "http://127.0.0.1/api")
    #expect(request.headers["Content-Type"] == "application/json")
    #expect(request.headers["Accept"] == "application/graphql-response+json, application/json;q=0.9")
    #expect(request.operationName == "getThing")
    #expect(request.bodyJSON == ["query": "query getThing { thing { name count } }", "operationName": "getThing"])
  }

  @Test func `a subscription is refused before it is sent`() async throws {
    struct Count: GraphQLSession {
      struct ResponseData: Decodable, Sendable { let countdown: Int }
      static let query: GraphQLDocument = "subscription count { countdown(start: 3) }"
    }
    #expect(await Count().post(on: try client(transport)).failure?.kind == .invalidRequest)
    #expect(transport.requests.isEmpty)
  }

  @Test func `extensions are sent where there are some`() async throws {
    _ = try await GetThing(extensions: ["a": [1, .null]]).post(on: client(transport)).value
    #expect(transport.onlyRequest?.bodyJSON?["extensions"] == ["a": [1, .null]])
  }

  @Test func `a query may travel by GET, in the URL's query`() async throws {
    struct Get: GraphQLSession {
      struct Variables: Encodable, Sendable { var id = "a&b=早" }
      typealias ResponseData = GetThing.ResponseData
      static let query: GraphQLDocument = "query getThing($id: ID!) { thing(id: $id) { name } }"
      let variables = Variables()
      let extensions: JSONValue? = ["v": 1]
    }
    _ = try await Get().get(on: client(transport, base: "http://127.0.0.1/graphql?key=k")).value
    let request = try #require(transport.onlyRequest)
    #expect(request.method == .get)
    #expect(request.body == nil)
    #expect(request.headers["Content-Type"] == nil)
    #expect(request.headers["Accept"] == "application/graphql-response+json, application/json;q=0.9")
    #expect(
      request.queryItems == [
        "key": "k", "query": Get.query.text, "operationName": "getThing", "variables": #"{"id":"a&b=早"}"#,
        "extensions": #"{"v":1}"#,
      ])
    #expect(request.query?.wholeMatch(of: #/([A-Za-z0-9._~&=-]|%[0-9A-F]{2})*/#) != nil)
  }

  @Test func `G5: a mutation is refused by GET, however it is requested`() async throws {
    let client = try client(transport)
    for error in [
      await ChangeThing().get(on: client).failure, await client.send(ChangeThing(), method: .get).failure,
      await RunOne(operationName: "write").get(on: client).failure,
    ] {
      #expect(error?.kind == .invalidRequest)
      #expect(error?.message.contains("POST") == true)
    }
    #expect(throws: RequestError.self) { try ChangeThing().makeRequest(APICall(.get, on: client)) }
    #expect(transport.requests.isEmpty)
  }

  @Test func `G5: a mutation is refused by GET behind comments, texts and fragments`() async throws {
    struct Hidden: GraphQLSession {
      typealias ResponseData = GetThing.ResponseData
      static let query: GraphQLDocument = """
        # query harmless { thing { name } }
        fragment f on Thing { name(format: "query harmless { a }") }
        mutation # query
          changeThing { changeThing { ...f } }
        """
    }
    #expect(await Hidden().get(on: try client(transport)).failure?.kind == .invalidRequest)
    #expect(transport.requests.isEmpty)
  }

  @Test func `G5: a mutation is refused by GET under the name of a query, or an unknown one`() async throws {
    struct Renamed: GraphQLSession {
      typealias ResponseData = GetThing.ResponseData
      static let query = ChangeThing.query
      var operationName: String
    }
    for name in ["getThing", "query", ""] {
      #expect(await Renamed(operationName: name).get(on: try client(transport)).failure?.kind == .invalidRequest)
    }
    #expect(await RunOne(operationName: "none").get(on: try client(transport)).failure?.kind == .invalidRequest)
    #expect(await RunOne(operationName: "none").post(on: try client(transport)).failure?.kind == .invalidRequest)
    #expect(transport.requests.isEmpty)
  }

  @Test func `other methods are refused for queries and mutations`() async throws {
    let client = try client(transport)
    for method in [HTTPMethod.put, .patch, .delete, .head, .options] {
      #expect(await client.send(GetThing(), method: method).failure?.kind == .invalidRequest)
      #expect(await client.send(ChangeThing(), method: method).failure?.kind == .invalidRequest)
    }
    #expect(transport.requests.isEmpty)
  }

  @Test func `the session's name says which of several operations runs`() async throws {
    let client = try client(transport)
    _ = try await RunOne(operationName: "read").get(on: client).value
    _ = try await RunOne(operationName: "write").post(on: client).value
    #expect(transport.requests.map(\.operationName) == ["read", "write"])
    #expect(transport.requests.last?.bodyJSON?["operationName"] == "write")
  }

  @Test func `queries may be sent again, mutations not`() async throws {
    let client = try client(transport)
    _ = try await GetThing().post(on: client).value
    _ = try await GetThing().get(on: client).value
    _ = try await ChangeThing().post(on: client).value
    _ = try await RunOne(operationName: "read").post(on: client).value
    _ = try await RunOne(operationName: "write").post(on: client).value
    #expect(transport.requests.map(\.isReplayable) == [true, true, false, true, false])
  }

  @Test func `an operation without a name is called after its type, and sent without one`() async throws {
    struct Unnamed: GraphQLSession {
      typealias ResponseData = GetThing.ResponseData
      static let query: GraphQLDocument = "{ thing { name } }"
    }
    _ = try await Unnamed().post(on: client(transport)).value
    #expect(transport.onlyRequest?.operationName == "Unnamed")
    #expect(transport.onlyRequest?.bodyJSON == ["query": "{ thing { name } }"])
  }

  @Test func `the members of a body keep their names, whatever an encoder does to keys`() async throws {
    struct Page: GraphQLSession {
      struct Variables: Encodable, Sendable { var pageSize = 3 }
      typealias ResponseData = GetThing.ResponseData
      static let query: GraphQLDocument = "query getPage($page_size: Int) { thing { name count } }"
      let variables = Variables()
      let extensions: JSONValue? = ["v": 1]
    }
    var client = try client(transport)
    for encoder in [JSONCoder(keys: .snakeCase), FoundationJSON(keys: .snakeCase)] as [any BodyEncoder] {
      client.encoder = encoder
      _ = try await Page().post(on: client).value
      #expect(
        transport.requests.last?.bodyJSON == [
          "query": .string(Page.query.text), "operationName": "getPage", "variables": ["page_size": 3],
          "extensions": ["v": 1],
        ])
    }
  }

  @Test func `a body is JSON whatever the session's headers say`() async throws {
    struct Odd: GraphQLSession {
      typealias ResponseData = GetThing.ResponseData
      static let query = GetThing.query
      let headers: HTTPHeaders = ["content-type": "text/plain", "X-A": "1"]
    }
    _ = try await Odd().post(on: client(transport)).value
    #expect(transport.onlyRequest?.headers.values(of: "Content-Type") == ["application/json"])
    #expect(transport.onlyRequest?.headers["X-A"] == "1")
  }
}
