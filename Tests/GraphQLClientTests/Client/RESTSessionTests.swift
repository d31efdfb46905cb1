import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import Testing

@Suite struct RESTSessionTests {
  private struct Parameters: Encodable, Sendable {
    var a = 1
    var b = "x y"
  }

  private let transport = ScriptedTransport(always: .json(#"{"id": 7, "name": "Wei"}"#))

  @Test func `a session is a type, a path and no more`() async throws {
    #expect(try await GetUser().get(on: client(transport)).value == User())
    let request = try #require(transport.onlyRequest)
    #expect(request.method == .get)
    #expect(request.url.absoluteString == "http://127.0.0.1/api/users/7")
    #expect(request.headers["Accept"] == "application/json")
    #expect(request.headers["Content-Type"] == nil)
    #expect(request.body == nil)
    #expect(request.operationName == "GetUser")
  }

  @Test func `a session may change the standard request, and so send a query beside a body`() async throws {
    struct Change: APISession {
      typealias ResponseType = User
      let parameters = RESTSessionTests.Parameters()
      func makeRequest(_ call: APICall) throws -> HTTPRequest {
        let request = try standardRequest(call)
        return try request.to(request.url.appending(queryItems: [URLQueryItem(name: "dry", value: "1")]))
      }
    }
    _ = try await Change().put(on: client(transport)).value
    let request = try #require(transport.onlyRequest)
    #expect(request.query == "dry=1")
    #expect(request.bodyText == #"{"a":1,"b":"x y"}"#)
    #expect(request.operationName == "Change")
    #expect(request.headers["Content-Type"] == "application/json")
  }

  @Test(arguments: [HTTPMethod.get, .head, .delete])
  func `GET and DELETE carry parameters in the query`(method: HTTPMethod) async throws {
    _ = try await client(transport).send(Send(parameters: Parameters()), method: method).value
    let request = try #require(transport.onlyRequest)
    #expect(request.method == method)
    #expect(request.query == "a=1&b=x%20y")
    #expect(request.body == nil)
    #expect(request.headers["Content-Type"] == nil)
  }

  @Test(arguments: [HTTPMethod.post, .put, .patch])
  func `POST, PUT and PATCH carry parameters as JSON in the body`(method: HTTPMethod) async throws {
    _ = try await client(transport).send(Send(parameters: Parameters()), method: method).value
    let request = try #require(transport.onlyRequest)
    #expect(request.method == method)
    #expect(request.query == nil)
    #expect(request.bodyText == #"{"a":1,"b":"x y"}"#)
    #expect(request.headers["Content-Type"] == "application/json")
  }

  @Test func `each verb sends its method`() async throws {
    let client = try client(transport)
    for verb in [GetUser.get, GetUser.post, GetUser.put, GetUser.patch, GetUser.delete] {
      #expect(try await verb(GetUser())(client).value == User())
    }
    #expect(transport.requests.map(\.method) == [.get, .post, .put, .patch, .delete])
  }

  @Test func `a session without parameters has an empty body, and none for GET and DELETE`() async throws {
    let client = try client(transport)
    for verb in [GetUser.get, GetUser.post, GetUser.put, GetUser.patch, GetUser.delete] {
      _ = try await verb(GetUser())(client).value
    }
    #expect(transport.requests.map(\.body) == [nil, Data(), Data(), Data(), nil])
    #expect(transport.requests.allSatisfy { $0.headers["Content-Type"] == nil })
  }

  @Test func `GET and HEAD may be sent again, other methods not`() async throws {
    let client = try client(transport)
    for method in [HTTPMethod.get, .head, .post, .put, .patch, .delete] {
      _ = try await client.send(Send(parameters: Parameters()), method: method).value
    }
    #expect(transport.requests.map(\.isReplayable) == [true, true, false, false, false, false])
  }

  @Test func `a session's own headers win over what it would say of itself`() async throws {
    let headers: HTTPHeaders = ["Accept": "text/csv", "content-type": "application/vnd.a+json"]
    _ = try await Send(headers: headers, parameters: Parameters()).post(on: client(transport)).value
    let sent = try #require(transport.onlyRequest).headers
    #expect(sent.values(of: "Accept") == ["text/csv"])
    #expect(sent.values(of: "Content-Type") == ["application/vnd.a+json"])
  }

  @Test(arguments: ["a tenant", "a\r\nX-Evil: 1"])
  func `T1: a header may hold a value from outside, which is checked`(tenant: String) async throws {
    struct Ask: APISession {
      typealias ResponseType = User
      let tenant: String
      var headers: HTTPHeaders {
        get throws { HTTPHeaders([try HTTPField(name: "X-Tenant", value: tenant)]) }
      }
    }
    let error = await Ask(tenant: tenant).get(on: try client(transport)).failure
    if tenant.contains("\n") {
      #expect(error?.kind == .invalidRequest)
      #expect(error?.operationName == "Ask")
      #expect(!(error?.cause is WrongSettings))
      #expect(transport.requests.isEmpty)
    } else {
      #expect(error == nil)
      #expect(transport.onlyRequest?.headers["X-Tenant"] == tenant)
    }
  }

  @Test func `bytes are sent, and read, as they are`() async throws {
    struct Put: APISession {
      typealias ResponseType = Data
      let parameters: Data
      let bodyFormat = BodyFormat.data(contentType: "image/png")
      var responseParser: ResponseParser<Data> { .data }
    }
    let (sent, answer) = (Data([0, 1, 0xFF]), Data([0xFE, 0]))
    let transport = ScriptedTransport(always: .response(headers: ["Content-Type": "image/png"], body: answer))
    #expect(try await Put(parameters: sent).put(on: client(transport)).value == answer)
    #expect(transport.onlyRequest?.body == sent)
    #expect(transport.onlyRequest?.headers["Content-Type"] == "image/png")
    let text = Send(parameters: "text", bodyFormat: .data(contentType: "text/plain"))
    #expect(await text.put(on: try client(transport)).failure?.kind == .invalidRequest)
    let missing = ScriptedTransport(always: .response(status: 404))
    #expect(await Put(parameters: sent).put(on: try client(missing)).failure?.kind == .httpStatus)
  }

  @Test func `a session is sent once for each subscriber, and not before`() async throws {
    let answers = GetUser().get(on: try client(transport))
    #expect(transport.requests.isEmpty)
    _ = try await answers.value
    _ = try await answers.value
    #expect(transport.requests.count == 2)
  }

  @Test func `disposing stops the exchange`() throws {
    let transport = ScriptedTransport(always: .never)
    let subscription = GetUser().get(on: try client(transport)).subscribe()
    #expect(transport.requests.count == 1)
    subscription.dispose()
    #expect(transport.cancellations == 1)
  }

  @Test func `an error of the transport is passed on under the operation's name`() async throws {
    let transport = ScriptedTransport(always: .failure(RequestError(.cannotConnect, "Refused.")))
    let error = await GetUser().get(on: try client(transport)).failure
    #expect(error?.kind == .cannotConnect)
    #expect(error?.description == "GetUser: cannot connect: Refused.")
  }

  @Test func `parameters that cannot be written are an invalid request, and nothing is sent`() async throws {
    struct Bad: Encodable, Sendable { var list = [1, Double.nan] }
    let session = Send(parameters: Bad())
    for method in [HTTPMethod.get, .post] {
      let error = try await client(transport).send(session, method: method).failure
      #expect(error?.kind == .invalidRequest)
      #expect(!(error?.cause is WrongSettings))
      #expect(error?.message.contains("list[1]") == true)
    }
    #expect(transport.requests.isEmpty)
  }

  @Test func `another format is another value`() async throws {
    struct Put: APISession {
      typealias ResponseType = [[String]]
      let parameters = ["b", "a"]
      let bodyFormat = BodyFormat.lines
      var responseParser: ResponseParser<[[String]]> { .csv }
    }
    let answer = ScriptedResponse.response(headers: ["Content-Type": "text/csv"], body: Data("a,b\nc".utf8))
    let transport = ScriptedTransport(always: answer)
    #expect(try await Put().put(on: client(transport)).value == [["a", "b"], ["c"]])
    let request = try #require(transport.onlyRequest)
    #expect(request.bodyText == "b\na")
    #expect(request.headers["Content-Type"] == "text/plain")
    #expect(request.headers["Accept"] == "text/csv")
  }
}

extension BodyFormat {
  fileprivate static let lines = BodyFormat(contentType: "text/plain") { parameters, _ in
    Data((parameters as? [String] ?? []).joined(separator: "\n").utf8)
  }
}

extension ResponseParser where Output == [[String]] {
  fileprivate static var csv: Self {
    ResponseParser(accept: "text/csv") { response, _ in
      try response.requireSuccess()
      return String(decoding: response.body, as: UTF8.self).split(separator: "\n").map {
        $0.split(separator: ",").map(String.init)
      }
    }
  }
}
