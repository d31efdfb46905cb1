import GraphQLLanguage

extension Schema {
  /// The order of definitions in a printed schema.
  public enum Order: Sendable {
    /// The schema's own.
    case asWritten
    /// By name, and so are fields, arguments, values, members and interfaces: two schemas that mean the same are printed
    /// the same.
    case sorted
  }

  /// The schema in the schema definition language, in graphql-js's format, with extensions merged into what they extend.
  /// What every schema has is left out.
  public func printed(_ order: Order = .asWritten) -> String {
    var writer = SchemaWriter(self, isSorted: order == .sorted)
    let text = writer.write()
    // The pieces are taken from documents that were parsed, so they parse together, too.
    return (try? DocumentSyntax(parsing: text).printed()) ?? text
  }
}

/// Puts a schema together from the texts of its definitions; the printer gives it its form.
private struct SchemaWriter {
  private let schema: Schema
  private let isSorted: Bool
  private var text = ""

  init(_ schema: Schema, isSorted: Bool) {
    self.schema = schema
    self.isSorted = isSorted
  }

  mutating func write() -> String {
    writeSchema()
    for directive in sorted(schema.directives, by: \.name) { write(directive) }
    for type in sorted(schema.types, by: \.name) { write(type) }
    return text
  }

  private func sorted<Element>(_ elements: [Element], by name: (Element) -> String) -> [Element] {
    isSorted ? elements.sorted { name($0) < name($1) } : elements
  }

  private mutating func writeSchema() {
    let kinds = [OperationSyntax.Kind.query, .mutation, .subscription]
    let roots = kinds.compactMap { kind in schema.rootType(of: kind).map { (kind: kind.rawValue, type: $0.name) } }
    let definitions = schema.tables.schemaSources.compactMap { SchemaDefinitionSyntax(schema.tables.node($0)) }
    // Without a definition of the schema, the objects of the usual names become the roots, if there are some.
    let isUsual = zip(kinds, ["Query", "Mutation", "Subscription"]).allSatisfy { kind, name in
      schema.rootType(of: kind).map { $0.name == name } ?? (schema.type(named: name)?.kind != .object)
    }
    let directives = definitions.flatMap(\.directives)
    let description = definitions.lazy.compactMap(\.description).first
    guard !roots.isEmpty, !isUsual || !directives.isEmpty || description != nil else { return }
    describe(description)
    text += "schema "
    write(directives)
    text += "{ " + roots.map { "\($0.kind): \($0.type)" }.joined(separator: " ") + " }\n"
  }

  private mutating func write(_ directive: DirectiveDefinition) {
    describe(directive.definition?.description)
    text += "directive @\(directive.name)"
    write(arguments: directive.arguments)
    let locations = directive.locations.map(\.rawValue)
    text += directive.isRepeatable ? " repeatable on " : " on "
    text += (isSorted ? locations.sorted() : locations).joined(separator: " | ") + "\n"
  }

  private mutating func write(_ type: NamedType) {
    describe(type.definition?.description)
    text += (type.definition?.kind.rawValue ?? "scalar") + " \(type.name) "
    if !type.interfaces.isEmpty {
      text += "implements " + sorted(type.interfaces, by: \.name).map(\.name).joined(separator: " & ") + " "
    }
    write(type.directives)
    switch type.kind {
    case .scalar: break
    case .object, .interface:
      writeBlock(sorted(type.fields, by: \.name)) { writer, field in
        writer.describe(field.definition?.description)
        writer.text += field.name
        writer.write(arguments: field.arguments)
        writer.text += ": \(field.type) "
        writer.write(field.definition.map { Array($0.directives) } ?? [])
      }
    case .union:
      let members = members(of: type)
      if !members.isEmpty { text += "= " + members.joined(separator: " | ") }
    case .enum:
      writeBlock(sorted(type.values, by: \.name)) { writer, value in
        writer.describe(value.definition?.description)
        writer.text += value.name + " "
        writer.write(value.definition.map { Array($0.directives) } ?? [])
      }
    case .inputObject:
      writeBlock(sorted(type.inputFields, by: \.name)) { $0.write($1) }
    }
    text += "\n"
  }

  /// The members of a union as they are written, also if that is not the order of their definitions.
  private func members(of type: NamedType) -> [String] {
    let possible = Set(type.possibleTypes.map(\.name))
    var known: Set<String> = []
    let written = ([type.definition].compactMap { $0 } + type.extensions).flatMap(\.members).map(\.name.text)
    let members = written.filter { possible.contains($0) && known.insert($0).inserted }
    return isSorted ? members.sorted() : members
  }

  private mutating func write(arguments: [InputValue]) {
    guard !arguments.isEmpty else { return }
    text += "("
    for argument in sorted(arguments, by: \.name) {
      write(argument)
      text += "\n"
    }
    text += ")"
  }

  private mutating func write(_ input: InputValue) {
    describe(input.definition?.description)
    text += "\(input.name): \(input.type) "
    if let value = input.defaultValue { text += "= \(value.text) " }
    write(input.definition.map { Array($0.directives) } ?? [])
  }

  private mutating func writeBlock<Element>(_ elements: [Element], _ write: (inout SchemaWriter, Element) -> Void) {
    guard !elements.isEmpty else { return }
    text += "{\n"
    for element in elements {
      write(&self, element)
      text += "\n"
    }
    text += "}"
  }

  private mutating func write(_ directives: [DirectiveSyntax]) {
    for directive in directives { text += directive.text + " " }
  }

  private mutating func describe(_ description: StringSyntax?) {
    if let description { text += description.text + "\n" }
  }
}
