import GraphQLSchema

/// What is read at the end of all lists.
struct Leaf {
  let type: String
  /// What the reader's functions for it are called, if it has some: `string`, `optionalString`.
  let reader: String?
  /// The expression that reads it in a list, if its type does not read itself.
  let expression: String?

  /// A type that reads itself.
  init(_ type: String) {
    (self.type, reader, expression) = (type, nil, nil)
  }

  private init(_ type: String, _ reader: String, expression: String? = nil) {
    (self.type, self.reader, self.expression) = (type, reader, expression)
  }

  static let builtIn: [String: Leaf] = [
    "String": Leaf("String", "string"), "Int": Leaf("Int", "int"), "Float": Leaf("Double", "double"),
    "Boolean": Leaf("Bool", "bool"), "ID": Leaf("String", "id", expression: "try json.readID()"),
  ]
}

/// The type of a field in Swift: lists and optionals around a leaf.
indirect enum ValueShape {
  case leaf(Leaf)
  case list(ValueShape)
  case null(ValueShape)

  /// - Parameter nonNullLevels: The levels that are not null although the type says so; 0 is the outermost.
  init(_ type: TypeReference, _ leaf: Leaf, nonNullLevels: Set<Int> = [], level: Int = 0) {
    let inner: ValueShape =
      type.item.map { .list(ValueShape($0, leaf, nonNullLevels: nonNullLevels, level: level + 1)) } ?? .leaf(leaf)
    self = type.isNonNull || nonNullLevels.contains(level) ? inner : .null(inner)
  }

  var isOptional: Bool { if case .null = self { true } else { false } }

  /// The shape with null.
  var optional: ValueShape { isOptional ? self : .null(self) }

  /// The type as Swift writes it.
  var type: String {
    switch self {
    case .leaf(let leaf): leaf.type
    case .list(let item): "[\(item.type)]"
    case .null(let value): value.type + "?"
    }
  }

  private var leaf: Leaf {
    switch self {
    case .leaf(let leaf): leaf
    case .list(let inner), .null(let inner): inner.leaf
    }
  }

  /// The expression that reads a member, to be covered by a `try`.
  func reading(_ key: String) -> String {
    guard case .null(let value) = self else { return value(key, "") }
    return value.value(key, "optional")
  }

  /// The expression that reads a member which is an object, or lists of objects, and may be left out.
  func readingIfComplete(_ key: String) -> String {
    if case .null(.list(.leaf)) = self { return "json.listIfComplete(\(SwiftWriter.literal(key)))" }
    return "json.valueIfComplete(\(SwiftWriter.literal(key)))"
  }

  private func value(_ key: String, _ prefix: String) -> String {
    func call(_ reader: String, _ closure: String = "") -> String {
      let name =
        prefix.isEmpty
        ? reader : reader == "id" ? "optionalID" : prefix + reader.prefix(1).uppercased() + reader.dropFirst()
      return "json.\(name)(\(SwiftWriter.literal(key)))\(closure)"
    }
    if case .leaf(let leaf) = self { return call(leaf.reader ?? "value") }
    if case .list(.leaf(let leaf)) = self, leaf.reader == "id" {
      return "json.\(prefix.isEmpty ? "ids" : "optionalIDs")(\(SwiftWriter.literal(key)))"
    }
    if case .list(.leaf(let leaf)) = self, leaf.reader == "string" { return call("strings") }
    if leaf.expression != nil { return call("value", Self.closure(expression)) }
    if case .list(.leaf) = self { return call("list") }
    return call("value")
  }

  /// The expression that reads the next value, in lines.
  private var expression: String {
    switch self {
    case .leaf(let leaf): leaf.expression ?? "try json.read()"
    case .list(let item): "try json.items" + Self.closure(item.expression)
    case .null(let value): "try json.orNull" + Self.closure(value.expression)
    }
  }

  private static func closure(_ body: String) -> String {
    let lines = body.split(separator: "\n").map { "  " + $0 }.joined(separator: "\n")
    return " { (json: inout JSONReader) throws(JSONError) in\n\(lines)\n}"
  }
}
