import GraphQLLanguage
import StrictJSON

/// The forms of the five scalars that the specification defines (section 3.5). Custom scalars take anything.
enum BuiltInScalar {
  /// Whether a literal can be of a scalar type.
  static func accepts(_ node: SyntaxNode, as scalar: NameTable.ID) -> Bool {
    switch scalar {
    case .int: node.kind == .int && Int32(node.text) != nil
    case .float: node.kind == .int || node.kind == .float
    case .string: node.kind == .string
    case .boolean: node.kind == .boolean
    case .id: node.kind == .string || node.kind == .int
    default: true
    }
  }

  static func isBuiltIn(_ scalar: NameTable.ID) -> Bool {
    switch scalar {
    case .int, .float, .string, .boolean, .id: true
    default: false
    }
  }

  /// The value of a literal, as one of the five scalars has it; `nil` if it does not fit.
  static func input(_ literal: SyntaxNode, as scalar: NameTable.ID) -> JSONValue? {
    guard accepts(literal, as: scalar) else { return nil }
    // The digits of an ID are its text, however many there are.
    if scalar == .id, literal.kind == .int { return .string(literal.text) }
    return input(untyped(literal), as: scalar)
  }

  /// The value of a literal that is no list and no object, whatever its type is.
  static func untyped(_ literal: SyntaxNode) -> JSONValue {
    switch ValueSyntax(literal)?.kind {
    case .int(let text)?, .float(let text)?: JSONNumber(text).map { JSONValue($0) } ?? .null
    case .string(let text)?: .string(text.value)
    case .boolean(let isTrue)?: .bool(isTrue)
    case .enumValue(let name)?: .string(name.text)
    default: .null
    }
  }

  /// A value from outside, as a scalar has it; `nil` if it does not fit.
  static func input(_ value: JSONValue, as scalar: NameTable.ID) -> JSONValue? {
    switch scalar {
    case .int: value.integerValue.flatMap { Int32(exactly: $0) }.map { .integer(Int64($0)) }
    case .float: value.numberValue.flatMap { $0.isFinite ? value : nil }
    case .string: value.stringValue.map(JSONValue.string)
    case .boolean: value.boolValue.map(JSONValue.bool)
    case .id: idText(value).map(JSONValue.string)
    default: value
    }
  }

  /// A value of a resolver, as it stands in the response; `nil` if it does not fit. Values of another kind are converted
  /// where nothing is lost.
  static func output(_ value: JSONValue, as scalar: NameTable.ID) -> JSONValue? {
    switch (scalar, value) {
    case (.int, .bool(let isTrue)), (.float, .bool(let isTrue)): .integer(isTrue ? 1 : 0)
    case (.int, .string(let text)): Int32(text).map { .integer(Int64($0)) }
    case (.float, .string(let text)): Double(text).flatMap { $0.isFinite ? .number($0) : nil }
    case (.string, .bool(let isTrue)): .string(isTrue ? "true" : "false")
    case (.string, .integer(let number)): .string(String(number))
    case (.string, .number(let number)): .string("\(number)")
    case (.string, .literal(let number)): .string(number.text)
    case (.boolean, .integer(let number)): .bool(number != 0)
    case (.boolean, .number(let number)): .bool(number != 0)
    case (.boolean, .literal(let number)): .bool(number.doubleValue != 0)
    default: input(value, as: scalar)
    }
  }

  /// The text of an ID, which may be given as a whole number of any size.
  private static func idText(_ value: JSONValue) -> String? {
    if case .literal(let number) = value { return number.isPlainInteger ? number.text : nil }
    return value.stringValue ?? value.integerValue.map { String($0) }
  }
}
