import GraphQLLanguage
import GraphQLSchema
import StrictJSON

/// The schema of several files: SDL, the result of an introspection, and extensions that only clients know.
struct SchemaSource {
  let schema: Schema
  let directives: ClientDirectives

  /// Reads the files; `nil` if one cannot be read, which becomes a problem. The schema's own faults become warnings, since it
  /// is someone else's.
  init?(_ sources: [GenerationSource], _ problems: inout [GenerationProblem]) {
    var documents: [DocumentSyntax] = []
    for source in sources {
      do {
        documents.append(try Self.document(source))
      } catch let error as GraphQLSyntaxError {
        problems.append(GenerationProblem(error.message, in: source.name, at: error.location, rule: "Syntax"))
      } catch {
        problems.append(GenerationProblem("this is no introspection: \(error)", in: source.name))
      }
    }
    guard documents.count == sources.count, !documents.isEmpty else {
      if sources.isEmpty { problems.append(GenerationProblem("there is no schema", in: "schema")) }
      return nil
    }
    directives = ClientDirectives(linkedIn: documents)
    if let prelude = directives.definitions(besides: documents) { documents.append(prelude) }
    schema = Schema(documents)
    for problem in schema.problems where problem.severity == .error && problem.document < sources.count {
      problems.append(
        GenerationProblem(
          problem.message, in: sources[problem.document].name, at: problem.locations.first, rule: problem.rule,
          severity: .warning))
    }
  }

  private static func document(_ source: GenerationSource) throws -> DocumentSyntax {
    let first = source.bytes.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }
    guard first == UInt8(ascii: "{") else { return try DocumentSyntax(parsing: source.bytes) }
    return try DocumentSyntax(parsing: Schema(introspection: source.bytes.span.bytes).printed())
  }
}

/// Directives of clients, which servers do not define: those of Apollo Kotlin and Relay for nullability and caches, by the
/// names that a schema's links give them (https://specs.apollo.dev/link/v1.0/).
struct ClientDirectives {
  /// The usual names, by other names of the schema: `["@mayFail": "@catch", "@nullability__catch": "@catch"]`.
  private var names: [String: String] = [:]
  /// What links put before the names that they do not import: `nullability__`.
  private var prefixes: Set<String> = []

  /// Reads what the schema's `@link`s import under other names, and what they name without importing it.
  init(linkedIn documents: [DocumentSyntax]) {
    for case .schema(let schema) in documents.flatMap(\.definitions) {
      for link in schema.directives where link.name == "link" {
        names.merge(link.importedNames) { $1 }
        if let namespace = link.namespace { prefixes.insert(namespace + "__") }
      }
    }
  }

  /// The usual name of a directive, without `@`.
  func name(of directive: DirectiveSyntax) -> String {
    let name = directive.name.text
    if let usual = names["@" + name] { return String(usual.dropFirst()) }
    return prefixes.first { name.hasPrefix($0) }.map { String(name.dropFirst($0.count)) } ?? name
  }

  /// Whether a directive of a document is for the server.
  func isSent(_ directive: DirectiveSyntax) -> Bool { !Self.notSent.contains(name(of: directive)) }

  private static let notSent: Set = ["catch", "nonnull", "required", "connection", "ignoreErrors"]

  /// The definitions that documents lack.
  func definitions(besides documents: [DocumentSyntax]) -> DocumentSyntax? {
    guard let usual = try? DocumentSyntax(parsing: Self.text) else { return nil }
    let own = usual.definitions.compactMap(Self.name)
    let imported = Dictionary(names.map { ($1, $0) }) { first, _ in first }
    var texts = [Self.text(imported)]
    for prefix in prefixes.sorted() {
      let prefixed = own.map { ($0, $0.hasPrefix("@") ? "@" + prefix + $0.dropFirst() : prefix + $0) }
      texts.append(Self.text(Dictionary(prefixed) { first, _ in first }))
    }
    guard let all = try? DocumentSyntax(parsing: texts.joined(separator: "\n")) else { return nil }
    let present = Set(documents.flatMap { $0.definitions.compactMap(Self.name) })
    let missing = all.definitions.filter { definition in Self.name(definition).map { !present.contains($0) } ?? false }
    return missing.isEmpty ? nil : try? DocumentSyntax(parsing: missing.map(\.text).joined(separator: "\n"))
  }

  /// The definitions, with other names for some of them.
  private static func text(_ names: [String: String]) -> String {
    text.split(separator: "\n").map { line in
      line.split(separator: " ", omittingEmptySubsequences: false).map { word in
        let end = word.firstIndex { "(!:".contains($0) } ?? word.endIndex
        return names[String(word[..<end])].map { $0 + word[end...] } ?? String(word)
      }.joined(separator: " ")
    }.joined(separator: "\n")
  }

  private static func name(_ definition: DefinitionSyntax) -> String? {
    switch definition {
    case .directive(let directive): "@" + directive.name.text
    case .type(let type) where !type.isExtension: type.name.text
    default: nil
    }
  }

  private static let text = """
    directive @semanticNonNull(levels: [Int!]! = [0]) on FIELD_DEFINITION
    directive @semanticNonNullField(name: String!, levels: [Int!]! = [0]) repeatable on OBJECT | INTERFACE
    directive @catch(to: CatchTo! = RESULT, levels: [Int!]) on FIELD
    directive @catchByDefault(to: CatchTo!) on SCHEMA
    directive @ignoreErrors on QUERY | MUTATION | SUBSCRIPTION
    enum CatchTo { NULL RESULT THROW }
    directive @nonnull(fields: String! = "") on OBJECT | INTERFACE | FIELD
    directive @required(action: RequiredFieldAction! = THROW) on FIELD
    enum RequiredFieldAction { NONE LOG THROW }
    directive @typePolicy(keyFields: String! = "", embeddedFields: String! = "", connectionFields: String! = "") on OBJECT | INTERFACE | UNION
    directive @fieldPolicy(forField: String!, keyArgs: String! = "", paginationArgs: String! = "") repeatable on OBJECT
    directive @connection(key: String, filter: [String!], filters: [String!]) on OBJECT | FIELD
    directive @connectionField(name: String!) repeatable on OBJECT | INTERFACE
    directive @embedded on FIELD_DEFINITION
    directive @embeddedField(name: String!) repeatable on OBJECT | INTERFACE
    directive @cacheControl(maxAge: Int, inheritMaxAge: Boolean, scope: CacheControlScope) on FIELD_DEFINITION | OBJECT | INTERFACE | UNION
    directive @cacheControlField(name: String!, maxAge: Int, inheritMaxAge: Boolean) repeatable on OBJECT | INTERFACE
    enum CacheControlScope { PUBLIC PRIVATE }
    directive @link(url: String!, as: String, for: LinkPurpose, import: [LinkImport!]) repeatable on SCHEMA
    enum LinkPurpose { SECURITY EXECUTION }
    scalar LinkImport
    """
}

extension DirectiveSyntax {
  /// What a `@link` imports under another name.
  fileprivate var importedNames: [String: String] {
    guard case .list(let items)? = arguments.first(where: { $0.name == "import" })?.value.kind else { return [:] }
    var names: [String: String] = [:]
    for case .object(let fields) in items.lazy.map(\.kind) {
      var texts: [String: String] = [:]
      for field in fields { if case .string(let text) = field.value.kind { texts[field.name.text] = text.value } }
      if let name = texts["name"], let other = texts["as"] { names[other] = name }
    }
    return names
  }

  /// The namespace of what a `@link` does not import: what it says, or the name in its URL, which is before the version.
  fileprivate var namespace: String? {
    var path = text("url")?.split(separator: "/") ?? []
    if let last = path.last, last.first == "v", last.dropFirst().allSatisfy({ $0.isNumber || $0 == "." }) {
      path.removeLast()
    }
    let name = text("as") ?? path.last.map(String.init)
    return name?.wholeMatch(of: /[A-Za-z_][0-9A-Za-z_]*/) == nil ? nil : name
  }

  private func text(_ argument: String) -> String? {
    guard case .string(let text)? = arguments.first(where: { $0.name == argument })?.value.kind else { return nil }
    return text.value
  }
}
