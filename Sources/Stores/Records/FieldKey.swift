import GraphQLLanguage
import StrictJSON

/// The values of an operation's variables: those that are sent, and the defaults of the others.
struct RecordVariables: Sendable {
  private let sent: [String: JSONValue]
  private var defaults: [String: ValueSyntax] = [:]

  init(_ sent: [String: JSONValue], of operation: OperationSyntax?) {
    self.sent = sent
    guard let operation else { return }
    for variable in operation.variables {
      if let value = variable.defaultValue { defaults[variable.name.text] = value }
    }
  }

  /// Whether `@skip` and `@include` let a selection stand. A variable without a value leaves it out: the server refuses
  /// it anyway.
  func allow(_ conditions: [Selections.Condition]) -> Bool {
    conditions.allSatisfy { condition in
      switch condition.value.kind {
      case .boolean(let value): value == condition.wanted
      case .variable(let name): boolean(name.text) == condition.wanted
      default: false
      }
    }
  }

  private func boolean(_ name: String) -> Bool? {
    if let value = sent[name] { return value.boolValue }
    if case .boolean(let value)? = defaults[name]?.kind { return value }
    return nil
  }

  /// The field's name with its arguments in one form: their names are sorted, as are those of input objects, variables
  /// have their values, and what has none is left out. So `null` is not the same as nothing, nor an enum's value the
  /// same as a string; numbers are the same if their values are.
  /// - Parameter paging: The arguments that the key has not, since they say which page is meant.
  func key(of field: FieldSyntax, without paging: Set<String> = []) -> String {
    let arguments = field.arguments.compactMap { argument -> (String, String)? in
      paging.contains(argument.name.text) ? nil : text(of: argument.value).map { (argument.name.text, $0) }
    }
    return field.name.text + (arguments.isEmpty ? "" : "(" + Self.joined(arguments) + ")")
  }

  /// The text of a field's argument: of a string, what is in it; `nil` if it has no value, or null.
  func text(of argument: String, of field: FieldSyntax) -> String? {
    guard let syntax = field.arguments.first(where: { $0.name.text == argument })?.value else { return nil }
    if case .variable(let name) = syntax.kind, let value = sent[name.text] {
      if value == .null { return nil }
      return value.stringValue ?? Self.text(of: value)
    }
    var value = syntax
    if case .variable(let name) = syntax.kind, let known = defaults[name.text] { value = known }
    switch value.kind {
    case .string(let string): return string.value
    case .null, .variable: return nil
    default: return text(of: value)
    }
  }

  private static func joined(_ members: [(String, String)]) -> String {
    members.sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }.map { "\($0):\($1)" }.joined(separator: ",")
  }

  /// The text of a value; `nil` for a variable without one. The depth of a document's values is limited by the parser.
  private func text(of value: ValueSyntax) -> String? {
    switch value.kind {
    case .variable(let name):
      sent[name.text].map(Self.text) ?? defaults[name.text].flatMap(text)
    case .int(let digits): digits
    case .float(let digits): Double(digits).map(Self.text) ?? digits
    case .string(let string): StringLiteral.quoted(string.value)
    case .boolean(let value): value ? "true" : "false"
    case .null: "null"
    case .enumValue(let name): name.text
    case .list(let elements): "[" + elements.map { text(of: $0) ?? "null" }.joined(separator: ",") + "]"
    case .object(let fields):
      "{" + Self.joined(fields.compactMap { field in text(of: field.value).map { (field.name.text, $0) } }) + "}"
    }
  }

  /// JSON in one form, whatever the order of the names.
  static func text(of value: JSONValue) -> String {
    switch value {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .integer(let value): String(value)
    case .number(let value): text(of: value)
    case .literal(let number): number.text
    case .string(let value): StringLiteral.quoted(value)
    case .array(let elements): "[" + elements.map(text).joined(separator: ",") + "]"
    // The names of an input object come from the caller, and may be anything.
    case .object(let members): "{" + joined(members.map { (name(of: $0), text(of: $1)) }) + "}"
    }
  }

  private static func name(of key: String) -> String {
    let isName = key.utf8.allSatisfy { $0 == UInt8(ascii: "_") || ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 < 10 }
    return isName ? key : StringLiteral.quoted(key)
  }

  private static func text(of number: Double) -> String {
    number.magnitude < 0x1p53 ? Int64(exactly: number).map(String.init) ?? "\(number)" : "\(number)"
  }
}
