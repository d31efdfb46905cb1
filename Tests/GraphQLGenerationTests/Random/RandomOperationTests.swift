import Foundation
import GraphQLGeneration
import GraphQLSchema
import TestSupport
import Testing

/// What is generated of any operations compiles, and reads what a server sends.
@Suite struct RandomOperationTests {
  private let seed: UInt64 = {
    let seed =
      ProcessInfo.processInfo.environment["MOMENTS_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 1 ... .max)
    print("MOMENTS_TEST_SEED=\(seed)")
    return seed
  }()

  private static let schemas =
    ["Tests/GeneratedShapes/schema.graphql"]
    + (TestScale.isLong
      ? ["schema.graphql", "Examples/Issues/schema.graphql", "Tests/GraphQLSchemaTests/Corpus/schema.graphql"] : [])

  private static let configuration: GenerationConfiguration = {
    var configuration = GenerationConfiguration()
    configuration.equality = .equatable
    configuration.isEncodable = true
    configuration.scalars = [
      "DateTime": .init("Date", module: "Foundation"), "Date": .init("String"), "URI": .init("String"),
      "JSON": .init("JSONValue"), "Anything": .init("JSONValue"), "BigInt": .init("Int64"),
    ]
    return configuration
  }()

  private static func source(of schema: String) throws -> GenerationSource {
    let file = RepositoryLayout.root.appendingPathComponent(schema)
    return GenerationSource(name: schema, bytes: Array(try Data(contentsOf: file)))
  }

  @Test(arguments: schemas)
  func `V4: sessions of random operations compile, keep to the contract, and see all that a server sends`(
    _ schema: String
  ) async throws {
    let source = try Self.source(of: schema)
    let operations = try RandomOperations(
      TestScale.count(5, long: 60), on: Schema(reading: source.bytes), seed: seed)
    let code = try Generator(Self.configuration).generate(
      schema: [source],
      documents: operations.documents.enumerated().map { GenerationSource(name: "\($0).graphql", text: $1) })

    let program = try GeneratedProgram()
    for file in code.files { try program.write(file.text, to: file.name) }
    let roundTrip = RepositoryLayout.root.appendingPathComponent("Tests/GraphQLGenerationTests/Random/RoundTrip.swift")
    try program.write(String(contentsOf: roundTrip, encoding: .utf8), to: "RoundTrip.swift")
    let calls = operations.operations.map { operation in
      let variables = operation.variables.map { "\($0): $0" }.joined(separator: ", ")
      let make = operation.variables.isEmpty ? "{ _ in .init() }" : "{ .init(\(variables)) }"
      return "problems += trip.problems(\(make) as (Bool) -> \(operation.name)Session.Session)"
    }
    try program.write(
      """
      let trip = try RoundTrip(schema: CommandLine.arguments[1])
      var problems: [String] = []
      \(calls.joined(separator: "\n"))
      for problem in problems { print(problem) }
      print("\(calls.count) operations")
      """, to: "main.swift")
    let compiled = try await program.compile()
    #expect(compiled == "", "\(operations.documents)")
    let output = try await program.run([RepositoryLayout.root.appendingPathComponent(schema).path])
    #expect(output == "\(calls.count) operations\n")
  }

  @Test(arguments: schemas) func `a session does not depend on other operations`(_ schema: String) throws {
    let source = try Self.source(of: schema)
    let operations = try RandomOperations(
      TestScale.count(30, long: 100), on: Schema(reading: source.bytes), seed: seed)
    let fragments = GenerationSource(name: "Fragments.graphql", text: operations.documents[1])
    let documents = operations.operations.map { GenerationSource(name: "\($0.name).graphql", text: $0.text) }
    let generator = Generator(Self.configuration)
    let all = try generator.generate(schema: [source], documents: documents + [fragments])
    for document in documents {
      let alone = try generator.generate(schema: [source], documents: [document, fragments])
      let name = "\(document.name).swift"
      let text = alone.files.first { $0.name == name }?.text
      #expect(text == all.files.first { $0.name == name }?.text)
    }
  }
}
