import Foundation
import GraphQLLanguage
import GraphQLSchema
import GraphQLTesting
import StrictJSON
import TestSupport
import Testing

@testable import GraphQLGeneration
@testable import Stores

/// A cache that knows only what is generated for any operations keeps and gives what one does that knows the whole schema.
@Suite struct RandomRecordSchemaTests {
  private let seed: UInt64 = {
    let seed =
      ProcessInfo.processInfo.environment["MOMENTS_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 1 ... .max)
    print("MOMENTS_TEST_SEED=\(seed)")
    return seed
  }()

  /// Policies of an object, an interface and a union, and a field with pages that is not called so.
  private static let policies = """
    extend type Label @typePolicy(keyFields: "name")
    extend interface Actor @typePolicy(keyFields: "login")
    extend union FeedItem @typePolicy(keyFields: "id")
    extend type Status @typePolicy(keyFields: "emoji message")
    extend type User @typePolicy(connectionFields: "followers")
    """

  private struct Cache {
    var records: RecordCache

    init(_ schema: RecordSchema) { records = RecordCache(schema) }

    private func plan(_ document: String, _ variables: [String: JSONValue]) throws -> PreparedPlan {
      let syntax = try DocumentSyntax(parsing: records.schema.addingKeys(to: document))
      return PreparedPlan(try RecordPlan(syntax, schema: records.schema), variables: variables)
    }

    mutating func write(_ json: [UInt8], of document: String, _ variables: [String: JSONValue]) throws {
      var plan = try plan(document, variables)
      _ = try records.write(PaddedBytes(json.span.bytes), of: &plan)
    }

    /// What it has of an operation: the JSON, or the path of what is missing.
    mutating func text(_ document: String, _ variables: [String: JSONValue]) throws -> String {
      var plan = try plan(document, variables)
      let result = try records.read(&plan)
      if let json = result.json { return json.description }
      return "missing " + (result.missing.first ?? []).map(\.description).joined(separator: ".")
    }
  }

  @Test func `what is generated for any operations serves a cache as well as the whole schema`() throws {
    let text = String(decoding: try GenerationFolder(target: "GeneratedShapes").schema[0].bytes, as: UTF8.self)
    let schema = try Schema(parsing: text)
    var whole = try RecordSchema(text + "\n" + Self.policies)
    whole.pageConnections()
    for round in 0..<TestScale.count(4, long: 40) {
      let operations = RandomOperations(12, on: schema, seed: seed &+ UInt64(round))
      let part = try Self.recordSchema(of: operations, text)
      var caches = (whole: Cache(whole), part: Cache(part))
      let server = TestServer(
        schema: schema, seed: seed,
        samples: ["ID": ["1", "2"], "BigInt": [7], "JSON": [1], "Actor.login": ["wei"], "Label.name": ["bug"]])
      var documents: [(text: String, variables: [String: JSONValue])] = []
      for operation in operations.operations {
        let document = Self.document(operation, operations)
        #expect(try part.addingKeys(to: document) == whole.addingKeys(to: document), "\(document)")
        let variables = Dictionary(operation.variables.map { ($0, JSONValue.bool($0 == "a")) }) { first, _ in first }
        let rewritten = try whole.addingKeys(to: document)
        let data = try #require(server.execute(rewritten, variables: variables).data, "\(rewritten)")
        let json = Array(try JSONCoder().encode(data.json))
        try caches.whole.write(json, of: document, variables)
        try caches.part.write(json, of: document, variables)
        documents.append((document, variables))
      }
      for (document, variables) in documents {
        let expected = try caches.whole.text(document, variables)
        #expect(try caches.part.text(document, variables) == expected, "\(document)")
      }
    }
  }

  private static func document(_ operation: RandomOperations.Operation, _ operations: RandomOperations) -> String {
    guard let syntax = try? DocumentSyntax(parsing: operation.text + "\n" + operations.documents[1]) else { return "" }
    let table = FragmentTable(syntax)
    let fragments = table.reached(from: syntax.operations[0].node).map { table.all[$0].syntax.text }
    return ([operation.text] + fragments).joined(separator: "\n")
  }

  /// What is generated, as a value.
  private static func recordSchema(of operations: RandomOperations, _ text: String) throws -> RecordSchema {
    var problems: [GenerationProblem] = []
    let source = SchemaSource(
      [GenerationSource(name: "schema", text: text), GenerationSource(name: "policies", text: policies)], &problems)
    let documents = DocumentSet(
      operations.documents.enumerated().map { GenerationSource(name: "\($0).graphql", text: $1) }, &problems)
    let model = RecordSchemaModel(try #require(source), try #require(documents), &problems)
    #expect(problems.filter { $0.severity == .error } == [])
    return RecordSchema(
      keyFields: model.keyFields, possibleTypes: model.possibleTypes.mapValues(Set.init), fieldTypes: model.fieldTypes,
      paging: Dictionary(uniqueKeysWithValues: model.connections.map { ($0, .connection) }))
  }
}
