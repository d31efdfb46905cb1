import GraphQLLanguage

extension IntrospectionDocument {
  /// The schema in the schema definition language, so that one builder makes schemas from both.
  ///
  /// The types of the introspection itself, the five scalars and the directives that every schema has are left out:
  /// the builder adds them. A default value that is not a literal by the grammar is left out, too.
  ///
  /// - Parameter isLiteral: Whether a text is a literal without variables.
  func sdl(isLiteral: @escaping (String) -> Bool) -> String {
    var writer = SDLWriter(isLiteral: isLiteral)
    writer.write(self)
    return writer.text
  }
}

private struct SDLWriter {
  let isLiteral: (String) -> Bool
  var text = ""

  mutating func write(_ document: IntrospectionDocument) {
    let roots = [
      ("query", document.queryType), ("mutation", document.mutationType), ("subscription", document.subscriptionType),
    ]
    if roots.contains(where: { $0.1 != nil }) {
      describe(document.description)
      text += "schema {"
      for case (let operation, let type?) in roots { text += " \(operation): \(type)" }
      text += " }\n"
    }
    for directive in document.directives where !Prelude.directiveNames.contains(directive.name) {
      write(directive)
    }
    for type in document.types where !Prelude.scalarNames.contains(type.name) && !type.name.hasPrefix("__") {
      write(type)
    }
  }

  private mutating func write(_ directive: IntrospectionDocument.DirectiveDefinition) {
    let locations = directive.locations.filter { DirectiveLocation(rawValue: $0) != nil }
    // The language cannot write a directive that may stand nowhere, and nobody can use it.
    guard !locations.isEmpty else { return }
    describe(directive.description)
    text += "directive @\(directive.name)"
    write(directive.arguments)
    text += directive.isRepeatable ? " repeatable on " : " on "
    text += locations.joined(separator: " | ") + "\n"
  }

  private mutating func write(_ type: IntrospectionDocument.TypeDefinition) {
    describe(type.description)
    switch type.kind {
    case "SCALAR":
      text += "scalar \(type.name)"
      if let url = type.specifiedByURL { text += " @specifiedBy(url: \(StringLiteral.quoted(url)))" }
    case "OBJECT", "INTERFACE":
      text += (type.kind == "OBJECT" ? "type " : "interface ") + type.name
      if !type.interfaces.isEmpty { text += " implements " + type.interfaces.joined(separator: " & ") }
      writeBlock(type.fields) { writer, field in
        writer.describe(field.description)
        writer.text += field.name
        writer.write(field.arguments)
        writer.text += ": " + field.type
        writer.write(field.deprecation)
      }
    case "UNION":
      text += "union \(type.name)"
      if !type.possibleTypes.isEmpty { text += " = " + type.possibleTypes.joined(separator: " | ") }
    case "ENUM":
      text += "enum \(type.name)"
      writeBlock(type.enumValues) { writer, value in
        writer.describe(value.description)
        writer.text += value.name
        writer.write(value.deprecation)
      }
    case "INPUT_OBJECT":
      text += "input \(type.name)"
      if type.isOneOf { text += " @oneOf" }
      writeBlock(type.inputFields) { $0.write($1) }
    default:
      // A kind of a later specification: something that has a name, at least.
      text += "scalar \(type.name)"
    }
    text += "\n"
  }

  private mutating func writeBlock<Element>(
    _ elements: [Element], _ write: (inout SDLWriter, Element) -> Void
  ) {
    guard !elements.isEmpty else { return }
    text += " {\n"
    for element in elements {
      write(&self, element)
      text += "\n"
    }
    text += "}"
  }

  private mutating func write(_ arguments: [IntrospectionDocument.InputDefinition]) {
    guard !arguments.isEmpty else { return }
    text += "("
    for argument in arguments {
      write(argument)
      text += "\n"
    }
    text += ")"
  }

  private mutating func write(_ input: IntrospectionDocument.InputDefinition) {
    describe(input.description)
    text += "\(input.name): \(input.type)"
    if let value = input.defaultValue, isLiteral(value) { text += " = " + value }
    write(input.deprecation)
  }

  private mutating func write(_ deprecation: IntrospectionDocument.Deprecation?) {
    guard let deprecation else { return }
    text += " @deprecated"
    // The default need not be said.
    if let reason = deprecation.reason, reason != "No longer supported" {
      text += "(reason: \(StringLiteral.quoted(reason)))"
    }
  }

  private mutating func describe(_ description: String?) {
    guard let description else { return }
    text +=
      StringLiteral.isPrintableAsBlock(description)
      ? StringLiteral.block(description) + "\n" : StringLiteral.quoted(description) + " "
  }
}
