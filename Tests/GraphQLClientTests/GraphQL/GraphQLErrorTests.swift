import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import StrictJSON
import Testing

@Suite struct GraphQLErrorTests {
  private func errors(_ json: String) async throws -> [GraphQLError] {
    let transport = ScriptedTransport(always: .json(#"{"data": null, "errors": \#(json)}"#))
    let error = await GetThing().post(on: try client(transport)).failure
    #expect(error?.kind == .graphQL)
    return error?.graphQLErrors ?? []
  }

  @Test func `an error has message, locations, path and extensions`() async throws {
    let error = try await errors(
      """
      [{"message": "no", "locations": [{"line": 1, "column": 2}], "path": ["things", 3, "name"],
        "extensions": {"code": "X", "more": [1]}}]
      """)[0]
    #expect(error.message == "no")
    #expect(error.locations.map { [$0.line, $0.column] } == [[1, 2]])
    #expect(error.path == [.key("things"), .index(3), .key("name")])
    #expect(error.pathText == "things[3].name")
    #expect(error.extensions == ["code": "X", "more": [1]])
    #expect("\(error)" == "no (at things[3].name) [X]")
  }

  @Test(
    .timeLimit(.minutes(1)),
    arguments: [
      #"{"data":null,"errors":[{"message":"no","extensions":{"KEY":1,"aKEY":2}}]}"#,
      #"{"data":null,"errors":[{"message":"no"}],"extensions":{"more":[{"KEY":1,"aKEY":2}]}}"#,
      #"{"data":{"KEY":1,"aKEY":2}}"#, #"{"KEY":1,"aKEY":2}"#,
    ])
  func `a key that would take long to be compared is an error`(body: String) async throws {
    let key = String(repeating: "\u{301}\u{323}", count: 30_000)
    let transport = ScriptedTransport(always: .json(body.replacing("KEY", with: key)))
    let error = await GetThing().post(on: try client(transport)).failure
    #expect(error?.kind == .undecodable)
    #expect(error?.description.contains("at most 30 combining characters in a row") == true)
  }

  @Test(arguments: [
    #"{"message":"no"}"#,
    #"{"extensions":{"code":"X","more":[1]},"locations":[{"column":2,"line":1}],"message":"no","path":["things",3]}"#,
  ])
  func `an error can be relayed as it came`(json: String) async throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(String(decoding: try encoder.encode(try await errors("[\(json)]")[0]), as: UTF8.self) == json)
  }

  @Test(arguments: [
    "{}", "null", "7", "\"no\"", "[]", #"{"message": 7}"#, #"{"message": null, "path": {}, "locations": 1}"#,
    #"{"message": "m", "locations": [{"line": "1"}], "path": [1.5], "extensions": []}"#,
    #"{"message": "m", "path": [null], "extensions": {"a": 1e999}}"#,
  ])
  func `an error of another form is still an error`(json: String) async throws {
    let errors = try await errors("[\(json), \(json)]")
    #expect(errors.count == 2)
    #expect(errors.allSatisfy { !$0.message.isEmpty && $0.path.isEmpty && $0.locations.isEmpty })
  }

  @Test func `G9: no more than 100 errors are kept`() async throws {
    let many = "[" + (0..<5000).map { #"{"message": "\#($0)"}"# }.joined(separator: ",") + "]"
    let errors = try await errors(many)
    #expect(errors.map(\.message) == (0..<100).map(String.init))
  }

  @Test func `G9: no more than 4 KiB of each error are kept`() async throws {
    let long = String(repeating: "早", count: 2000)
    let list = "[" + Array(repeating: "\"\(long)\"", count: 40).joined(separator: ",") + "]"
    let numbers = "[" + Array(repeating: "1", count: 2000).joined(separator: ",") + "]"
    let locations = "[" + Array(repeating: #"{"line": 1, "column": 1}"#, count: 100).joined(separator: ",") + "]"
    let members = "{\"code\": \"X\", " + (0..<1000).map { "\"k\($0)\": 1" }.joined(separator: ",") + "}"
    let extensions = [long, list, numbers].map { "{\"code\": \"X\", \"a\": \($0 == long ? "\"\($0)\"" : $0)}" }
    for extensions in extensions + [members, "{\"code\": \"X\", \"\(long)\": 1}"] {
      for path in [list, numbers] {
        let rest = "\"locations\": \(locations), \"path\": \(path), \"extensions\": \(extensions)"
        let error = try await errors("[{\"message\": \"\(long)\", \(rest)}]")[0]
        #expect(size(of: error) <= 4096)
        #expect(error.code == "X")
        #expect(error.message.hasPrefix("早早"))
        #expect(error.message.hasSuffix("…"))
        #expect(!error.path.isEmpty)
      }
    }
  }

  @Test func `G9: extensions that are too large are reduced to their code`() async throws {
    let large = "{" + (0..<5000).map { "\"k\($0)\": 1, " }.joined() + #""code": "X", "z": {"code": "Y"}}"#
    let list = "[" + Array(repeating: "1", count: 40_000).joined(separator: ",") + "]"
    for (extensions, code) in [(large, "X"), ("{\"code\": \(list)}", nil), (list, nil)] {
      let error = try await errors(#"[{"extensions": \#(extensions), "message": "m", "path": \#(list)}]"#)[0]
      #expect(error.extensions == (code.map { ["code": .string($0)] } ?? [:]))
      #expect(error.message == "m")
      #expect(error.path == Array(repeating: .index(1), count: 32))
    }
  }

  @Test func `G9: a response's own extensions are left out where they are larger than 256 KiB`() async throws {
    for (count, isKept) in [(100_000, true), (140_000, false)] {
      let list = "[" + Array(repeating: "1", count: count).joined(separator: ",") + "]"
      let transport = ScriptedTransport(always: .json(#"{"extensions": \#(list), "data": {"thing": null}}"#))
      let response = try await GetThing().post(on: try client(transport)).value
      #expect((response.extensions != nil) == isKept)
    }
  }

  /// The bytes of all texts and numbers in an error.
  private func size(of error: GraphQLError) -> Int {
    let path = error.path.reduce(0) { size, step in
      if case .key(let key) = step { size + key.utf8.count } else { size + 8 }
    }
    let extensions = (try? JSONEncoder().encode(error.extensions).count) ?? .max
    return error.message.utf8.count + 16 * error.locations.count + path + extensions
  }

  @Test func `an error with several says the first and how many more`() async throws {
    let transport = ScriptedTransport(
      always: .json(#"{"errors": [{"message": "first"}, {"message": "second"}, {"message": "third"}]}"#))
    let error = await GetThing().post(on: try client(transport)).failure
    #expect(error?.message == "first (and 2 more)")
    #expect((error?.cause as? GraphQLErrors)?.errors.count == 3)
  }

  @Test func `S5: an error's line cannot drive a terminal`() async throws {
    let text = #"a\u001b[2J\u009b\n\u202eb"#
    let error = try await errors(
      #"[{"message": "\#(text)", "path": ["\#(text)"], "extensions": {"code": "\#(text)"}}]"#)[0]
    let shown = "\(error) \(GraphQLErrors([error])) \(error.pathText)"
    #expect(shown.contains(#"a\u{1B}[2J\u{9B}\n\u{202E}b"#))
    for scalar in shown.unicodeScalars {
      #expect(scalar.properties.generalCategory != .control)
      #expect(scalar != "\u{202E}")
    }
  }

  @Test func `an empty list of errors has no description`() {
    #expect(RequestError(.timedOut, "Late.").graphQLErrors == [])
    #expect("\(GraphQLErrors([]))" == "The server sent no errors.")
  }

  @Test func `an error tells whether the user has to sign in, whichever way the server says so`() {
    let code = GraphQLError(message: "Who?", extensions: ["code": .string("UNAUTHENTICATED")])
    let errors = [
      RequestError(.httpStatus, "Who?", status: 401), RequestError(.graphQL, "Who?", cause: GraphQLErrors([code])),
      RequestError(.httpStatus, "Not you.", status: 403), RequestError(.cannotConnect, "Refused."),
      RequestError(.cannotConnect, "The proxy refused.", status: 401),
    ]
    #expect(errors.map(\.isUnauthenticated) == [true, true, false, false, false])
  }

  @Test func `an error's localizedDescription is its description`() {
    let errors: [any Error] = [
      RequestError(.cannotConnect, "Refused.", operationName: "getUser"), StreamError.timeout,
      GraphQLErrors([GraphQLError(message: "No.")]),
    ]
    #expect(
      errors.map(\.localizedDescription) == ["getUser: cannot connect: Refused.", "No element came in time.", "No."])
  }
}
