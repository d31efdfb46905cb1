public import GraphQLLanguage
public import StrictJSON

/// A GraphQL type system: what a server can be asked, and what it responds (specification of September 2025, section 3).
///
///     let schema = try Schema(parsing: sdl)
///     schema.type(named: "User")?.field(named: "friends")?.type   // [User!]!
///     schema.problems                                             // what is wrong with it
///
/// A schema with faults is used all the same, as far as it goes: of two definitions of one name the first counts, and what
/// refers to nothing is left out. ``problems`` says so.
///
/// A schema never changes. It is a reference to its tables, so that passing it on costs nothing, and so are the views of
/// its types and fields, which keep it in memory.
public struct Schema: Sendable {
  final class Storage: Sendable {
    let tables: SchemaTables
    let problems: [SchemaProblem]

    init(_ tables: SchemaTables, _ problems: [SchemaProblem]) {
      self.tables = tables
      self.problems = problems
    }
  }

  let storage: Storage

  var tables: SchemaTables { storage.tables }

  private init(_ storage: Storage) {
    self.storage = storage
  }

  /// What is wrong with the schema, in the order of its documents: up to 100 errors and 1,000 warnings. If there are more,
  /// the problem of the rule `Limit` says so; after so many errors nothing else is looked for.
  public var problems: [SchemaProblem] { storage.problems }

  /// Builds the schema that one or several documents define together. Operations and fragments in them are ignored.
  public init(_ documents: DocumentSyntax...) {
    self.init(documents)
  }

  /// Builds the schema that several documents define together. Operations and fragments in them are ignored.
  public init(_ documents: [DocumentSyntax]) {
    let built = SchemaBuilder.build(documents)
    let draft = Schema(Storage(built.tables, []))
    SchemaRules.check(draft, built.problems)
    storage = Storage(built.tables, built.problems.all)
  }

  /// Reads a schema in the schema definition language.
  /// - Throws: The place where the text is not GraphQL, and what was expected there.
  public init(parsing sdl: String, limits: SyntaxLimits = .standard) throws(GraphQLSyntaxError) {
    self.init(try DocumentSyntax(parsing: sdl, limits: limits))
  }

  /// Reads the result of an introspection query, of a server of any age: `{"data": {"__schema": …}}` or
  /// `{"__schema": …}`. Problems have no locations then.
  ///
  /// - Throws: The path and the offset at which the JSON is no such result.
  public init(introspection json: RawSpan) throws(JSONError) {
    let introspection = try IntrospectionDocument(json: json)
    let sdl = introspection.sdl { (try? ValueSyntax(parsing: $0)) != nil }
    do {
      let schema = try Schema(parsing: sdl)
      storage = Storage(schema.tables, schema.problems.map(\.withoutLocations))
    } catch {
      // The names are checked and the texts quoted, so only a limit of the parser can be exceeded.
      throw JSONError(.invalid, path: [.key("__schema")], offset: 0, expected: "a schema that can be written: \(error)")
    }
  }

  /// Reads a schema of either kind: a text that begins with a brace is JSON.
  /// - Throws: A `GraphQLSyntaxError` or a `JSONError`.
  public init(reading bytes: [UInt8]) throws {
    let first = bytes.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }
    if first == UInt8(ascii: "{") {
      self = try Schema(introspection: bytes.span.bytes)
    } else {
      self.init(try DocumentSyntax(parsing: bytes))
    }
  }

  /// The type with a name.
  public func type(named name: String) -> NamedType? {
    tables.type(named: tables.names.find(name)).flatMap { isMetaFields($0) ? nil : NamedType(self, $0) }
  }

  /// The types in the order of their definitions, without those that every schema has.
  public var types: [NamedType] {
    (tables.preludeTypes..<tables.types.count).map { NamedType(self, TypeID(rawValue: UInt32($0))) }
  }

  /// The types that every schema has: the five scalars, and those of introspection.
  public var builtInTypes: [NamedType] {
    (0..<tables.preludeTypes).lazy.map { TypeID(rawValue: UInt32($0)) }.filter { !isMetaFields($0) }.map {
      NamedType(self, $0)
    }
  }

  /// The directive with a name, without the at sign.
  public func directive(named name: String) -> DirectiveDefinition? {
    tables.directive(named: tables.names.find(name)).map { DirectiveDefinition(self, $0) }
  }

  /// The directives in the order of their definitions, without those that every schema has.
  public var directives: [DirectiveDefinition] {
    (tables.preludeDirectives..<tables.directives.count).map { DirectiveDefinition(self, $0) }
  }

  /// The directives that every schema has: `@skip`, `@include`, `@deprecated`, `@specifiedBy` and `@oneOf`.
  public var builtInDirectives: [DirectiveDefinition] {
    (0..<tables.preludeDirectives).map { DirectiveDefinition(self, $0) }
  }

  /// The type that operations of a kind begin with, if the schema has such operations.
  public func rootType(of operation: OperationSyntax.Kind) -> NamedType? {
    tables.roots[operation.index].map { NamedType(self, $0) }
  }

  /// The description of the schema itself.
  public var description: String? {
    for source in tables.schemaSources {
      if let text = SchemaDefinitionSyntax(tables.node(source))?.description { return text.value }
    }
    return nil
  }

  /// The type whose fields selections may have although their type does not.
  private func isMetaFields(_ type: TypeID) -> Bool { type == tables.metaFields }
}

extension SchemaProblem {
  fileprivate var withoutLocations: SchemaProblem {
    SchemaProblem(severity: severity, rule: rule, message: message, document: 0, locations: [])
  }
}
