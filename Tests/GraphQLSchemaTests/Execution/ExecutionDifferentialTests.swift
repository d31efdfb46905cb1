import Foundation
import GraphQLLanguage
import GraphQLSchema
import StrictJSON
import TestSupport
import Testing

/// The same operations executed by graphql-core with the same resolvers: data, and the paths and places of errors, must be
/// the same.
@Suite struct ExecutionDifferentialTests {
  private struct Request: Encodable {
    let schema: String
    let document: String
    let variables: JSONValue
    let data: JSONValue
  }

  private struct Response: Decodable {
    let data: JSONValue?
    let errors: [JSONValue]
  }

  /// Resolves a field as `Oracle/execute.py` does.
  private static func resolve(_ request: Executor.FieldRequest, _ root: JSONValue) throws -> JSONValue {
    let parent = request.parent == .null ? root : request.parent
    let value = parent[request.field.name] ?? .null
    if let message = value["$error"]?.stringValue { throw FieldError(message) }
    return value["$arguments"] == nil ? value : .string(text(.object(request.arguments)))
  }

  private static func text(_ value: JSONValue) -> String {
    switch value {
    case .object(let members):
      "{" + members.sorted { $0.key < $1.key }.map { "\($0.key):\(text($0.value))" }.joined(separator: ",") + "}"
    case .array(let elements): "[" + elements.map(text).joined(separator: ",") + "]"
    case .integer(let number): "\(Double(number))"
    case .number(let number): "\(number)"
    case .literal(let number): number.text
    case .string(let text): "\"\(text)\""
    case .bool(let isTrue): "\(isTrue)"
    case .null: "null"
    }
  }

  private func compare(_ requests: [Request], _ schema: Schema) async throws {
    let responses = try await GraphQLCore.run("execute", requests, as: Response.self)
    #expect(responses.count == requests.count)
    for (request, response) in zip(requests, responses) {
      guard case .object(let variables) = request.variables else { continue }
      let executor = Executor(schema) { try Self.resolve($0, request.data) }
      let result = executor.execute(try DocumentSyntax(parsing: request.document), variables: variables)
      let errors = result.errors.map { error -> JSONValue in
        let path = error.path.map { step -> JSONValue in
          switch step {
          case .key(let key): .string(key)
          case .index(let index): .integer(Int64(index))
          }
        }
        let places = error.locations.map { JSONValue.array([.integer(Int64($0.line)), .integer(Int64($0.column))]) }
        return .array([path.isEmpty ? .null : .array(path), .array(places)])
      }
      let isEqual = (result.data?.json ?? .null) == (response.data ?? .null) && errors == response.errors
      #expect(
        isEqual,
        """
        \(request.document)
        \(request.variables)
        \(String(describing: result.data?.json)) \(result.errors.map(\.message)) \(errors)
        \(String(describing: response.data)) \(response.errors)
        """)
    }
  }

  @Test(
    arguments: ["corpus", "moments"],
    [1, 2, 3] as [UInt64])
  func `random operations have the results that graphql-core gives`(name: String, seed: UInt64) async throws {
    let file = name == "corpus" ? Corpus.folder.appendingPathComponent("schema.graphql") : RepositoryLayout.schema
    let sdl = try String(contentsOf: file, encoding: .utf8)
    let schema = try Schema(parsing: sdl)
    var random = RandomOperation(schema, seed: seed)
    var requests: [Request] = []
    var refused = 0
    while requests.count < TestScale.count(30, long: 1_500) {
      let document = random.document()
      guard schema.validate(try DocumentSyntax(parsing: document)).isEmpty else {
        refused += 1
        continue
      }
      requests.append(
        Request(schema: sdl, document: document, variables: .object(random.variables), data: random.data()))
    }
    #expect(refused < requests.count * 2)
    try await compare(requests, schema)
  }
}
