public import StrictJSON

/// A value of a schema enum. The server may send a value that this client does not know: that is not an error, and the
/// value is encoded as it was received.
///
///     enum Genre: String {
///       case novel = "NOVEL"
///       case poetry = "POETRY"
///     }
///     let genre: GraphQLEnum<Genre>
///
///     if book.genre == .novel { … }
///     switch book.genre {
///     case .known(.novel): …
///     case .known(.poetry): …
///     case .unknown(let name): …
///     }
///
/// Where the names of unknown values do not matter, switch over the enum itself:
///
///     switch book.genre.value {
///     case .novel: …
///     case .poetry: …
///     case nil: …
///     }
public enum GraphQLEnum<Value: RawRepresentable<String> & Sendable>: Hashable, Sendable {
  /// A known value.
  case known(Value)

  /// Any other value, as the server spells it.
  case unknown(String)

  /// The value, if it is known.
  public var value: Value? { if case .known(let value) = self { value } else { nil } }
}

extension GraphQLEnum where Value: Equatable {
  /// Whether it is this known value.
  public static func == (left: GraphQLEnum, right: Value) -> Bool { left.value == right }

  /// Whether it is this known value.
  public static func == (left: Value, right: GraphQLEnum) -> Bool { right.value == left }

  /// Whether it is not this known value.
  public static func != (left: GraphQLEnum, right: Value) -> Bool { left.value != right }

  /// Whether it is not this known value.
  public static func != (left: Value, right: GraphQLEnum) -> Bool { right.value != left }
}

extension GraphQLEnum: RawRepresentable {
  /// Makes a value from the server's spelling, which may be any string.
  @inlinable
  public init(rawValue: String) {
    if let value = Value(rawValue: rawValue) { self = .known(value) } else { self = .unknown(rawValue) }
  }

  /// The server's spelling.
  public var rawValue: String {
    switch self {
    case .known(let value): value.rawValue
    case .unknown(let name): name
    }
  }
}

// Written and read as the raw value: those of `RawRepresentable` are the implementations.
extension GraphQLEnum: Codable, JSONEncodable {}

extension GraphQLEnum: JSONDecodable {
  /// Reads the server's spelling; every string is accepted that has at most 30 combining characters in a row.
  @inlinable
  public init(from json: inout JSONReader) throws(JSONError) {
    self.init(rawValue: try json.readName())
  }
}
