import GraphQLLanguage

extension IntrospectionDocument {
  /// The same schema in the schema definition language, so that one builder makes schemas from both.
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
      if let url = type.specifiedByURL { text += " @specifiedBy(url: \(quoted(url)))" }
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
    if let reason = deprecation.reason, reason != "No longer supported" { text += "(reason: \(quoted(reason)))" }
  }

  private mutating func describe(_ description: String?) {
    guard let description else { return }
    text += description.isPrintableInBlock ? block(description) + "\n" : quoted(description) + " "
  }

  private func block(_ string: String) -> String {
    "\"\"\"\n" + string.replacing("\"\"\"", with: "\\\"\"\"") + "\n\"\"\""
  }

  private func quoted(_ string: String) -> String {
    var result = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F: result += "\\u{" + String(scalar.value, radix: 16) + "}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

extension String {
  /// Whether a block string can hold the text: it has no control characters, no blank first or last line, and no
  /// indentation that all of its lines share.
  fileprivate var isPrintableInBlock: Bool {
    let lines = split(separator: "\n", omittingEmptySubsequences: false)
    let isPlain = unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F || $0 == "\n" || $0 == "\t" }
    let isBlank = { (line: Substring) in line.allSatisfy { $0 == " " || $0 == "\t" } }
    guard isPlain, let first = lines.first, let last = lines.last, !isBlank(first), !isBlank(last) else { return false }
    return lines.contains { !isBlank($0) && $0.first != " " && $0.first != "\t" }
  }
}
