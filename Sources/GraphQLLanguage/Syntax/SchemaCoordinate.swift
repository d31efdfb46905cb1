/// The name of a place in a schema (GraphQL specification, section 3.14).
///
///     try SchemaCoordinate(parsing: "Query.user(id:)") == .argument(type: "Query", field: "user", name: "id")
public enum SchemaCoordinate: Hashable, Sendable, CustomStringConvertible {
  /// `User`: a type.
  case type(String)
  /// `User.name`: a field, an input field or an enum value of a type.
  case member(type: String, name: String)
  /// `Query.user(id:)`: an argument of a field.
  case argument(type: String, field: String, name: String)
  /// `@include`: a directive.
  case directive(String)
  /// `@include(if:)`: an argument of a directive.
  case directiveArgument(directive: String, name: String)

  /// Parses a coordinate, which has no white space.
  /// - Throws: The place where the text is no coordinate, and what was expected there.
  public init(parsing text: String) throws(GraphQLSyntaxError) {
    var reader = CoordinateReader(text)
    if try reader.skip("@") {
      let name = try reader.name("the name of a directive")
      self = try reader.argument().map { .directiveArgument(directive: name, name: $0) } ?? .directive(name)
    } else {
      let type = try reader.name("the name of a type, or \"@\" and that of a directive")
      if try reader.skip(".") {
        let name = try reader.name("the name of a field, an input field or an enum value")
        let argument = try reader.argument()
        self = argument.map { .argument(type: type, field: name, name: $0) } ?? .member(type: type, name: name)
      } else {
        self = .type(type)
      }
    }
    try reader.expectEnd()
  }

  /// The coordinate as it is written.
  public var description: String {
    switch self {
    case .type(let name): name
    case .member(let type, let name): "\(type).\(name)"
    case .argument(let type, let field, let name): "\(type).\(field)(\(name):)"
    case .directive(let name): "@\(name)"
    case .directiveArgument(let directive, let name): "@\(directive)(\(name):)"
    }
  }
}

private struct CoordinateReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  mutating func skip(_ character: Unicode.Scalar) throws(GraphQLSyntaxError) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  mutating func name(_ expected: String) throws(GraphQLSyntaxError) -> String {
    let start = position
    while position < bytes.count, bytes[position].isNameByte, position > start || !bytes[position].isDigitByte {
      position += 1
    }
    guard position > start else { throw unexpected(expected) }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  /// `(name:)`, if there is one.
  mutating func argument() throws(GraphQLSyntaxError) -> String? {
    guard try skip("(") else { return nil }
    let name = try name("the name of an argument")
    guard try skip(":") else { throw unexpected("\":\"") }
    guard try skip(")") else { throw unexpected("\")\"") }
    return name
  }

  func expectEnd() throws(GraphQLSyntaxError) {
    guard position == bytes.count else { throw unexpected("the end of the coordinate") }
  }

  private func unexpected(_ expected: String) -> GraphQLSyntaxError {
    let rest = String(decoding: bytes[position...], as: UTF8.self)
    let found = rest.unicodeScalars.first.map { "\"\($0)\"" } ?? "its end"
    let location = LineTable(bytes, count: bytes.count).location(of: position, in: bytes)
    return GraphQLSyntaxError("expected \(expected), found \(found)", at: location)
  }
}
