import GraphQLGeneration

/// Generates code of texts.
enum Sample {
  static let schema = """
    type Query {
      "The account with an id."
      user(id: ID!): User
      users(filter: Filter): [User!]!
      search(text: String!): [Item!]!
    }
    type Mutation { rename(id: ID!, name: String!): User }
    type Subscription { renamed: User! }
    interface Named { name: String! }
    "An account."
    type User implements Named {
      id: ID!
      name: String!
      age: Int
      role: Role!
      born: DateTime
      friends: [User!]!
      old: String @deprecated(reason: "Use name")
    }
    type Group implements Named { name: String! members: [User!]! }
    type Robot { model: String! }
    union Item = User | Group | Robot
    scalar DateTime
    enum Role { ADMIN MEMBER @deprecated GUEST }
    input Filter { role: Role, name: String, limit: Int! = 10, not: Filter, since: DateTime }
    input Unused { a: Int }
    enum Unreached { A }
    """

  static func configuration(_ change: (inout GenerationConfiguration) -> Void = { _ in }) -> GenerationConfiguration {
    var configuration = GenerationConfiguration()
    configuration.scalars["DateTime"] = .init("Date", module: "Foundation")
    change(&configuration)
    return configuration
  }

  /// The code of documents in files `1.graphql`, `2.graphql` and so on.
  static func code(
    _ documents: String..., schema: String = schema, extensions: String? = nil,
    _ change: (inout GenerationConfiguration) -> Void = { _ in }
  ) throws(GenerationFailure) -> GeneratedCode {
    let files = documents.enumerated().map { GenerationSource(name: "\($0 + 1).graphql", text: $1) }
    let schemas =
      [GenerationSource(name: "schema.graphql", text: schema)]
      + (extensions.map { [GenerationSource(name: "extra.graphqls", text: $0)] } ?? [])
    return try Generator(configuration(change)).generate(schema: schemas, documents: files)
  }

  /// The text of the first file.
  static func text(
    _ document: String, schema: String = schema, extensions: String? = nil,
    _ change: (inout GenerationConfiguration) -> Void = { _ in }
  ) throws -> String {
    try code(document, schema: schema, extensions: extensions, change).files.first { $0.name == "1.graphql.swift" }?
      .text
      ?? ""
  }

  /// The text of what operations share.
  static func shared(
    _ document: String, schema: String = schema, _ change: (inout GenerationConfiguration) -> Void = { _ in }
  ) throws -> String {
    try code(document, schema: schema, change).files.first { $0.name == Generator.sharedFile }?.text ?? ""
  }

  /// The problems of documents that cannot be generated.
  static func problems(
    _ documents: String..., schema: String = schema, extensions: String? = nil,
    _ change: (inout GenerationConfiguration) -> Void = { _ in }
  ) -> [String] {
    do throws(GenerationFailure) {
      let files = documents.enumerated().map { GenerationSource(name: "\($0 + 1).graphql", text: $1) }
      let schemas =
        [GenerationSource(name: "schema.graphql", text: schema)]
        + (extensions.map { [GenerationSource(name: "extra.graphqls", text: $0)] } ?? [])
      let code = try Generator(configuration(change)).generate(schema: schemas, documents: files)
      return code.warnings.map(\.description)
    } catch {
      return error.problems.map(\.description)
    }
  }
}

extension String {
  /// The lines from one that contains a text to the one that closes what it opens.
  func declaration(_ head: String) -> String {
    let lines = split(separator: "\n", omittingEmptySubsequences: false)
    guard let first = lines.firstIndex(where: { $0.contains(head) }) else { return "" }
    let indentation = lines[first].prefix { $0 == " " }
    let last = lines[first...].firstIndex { $0 == indentation + "}" } ?? first
    return lines[first...last].map { $0.dropFirst(indentation.count) }.joined(separator: "\n")
  }
}
