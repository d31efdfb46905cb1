public import JSON

/// A value of a schema enum. The server may send a value that this client does not know: that is not an error, and the
/// value is written back as it came.
///
///     enum Genre: String {
///       case novel = "NOVEL"
///       case poetry = "POETRY"
///     }
///     let genre: GraphQLEnum<Genre>
///
///     switch book.genre {
///     case .known(.novel): …
///     case .known(.poetry): …
///     case .unknown(let name): …
///     }
public enum GraphQLEnum<Value: RawRepresentable<String> & Sendable>: Hashable, Sendable {
  /// A value that is known.
  case known(Value)

  /// Another one, in the server's spelling.
  case unknown(String)

  /// The value, where it is known.
  public var value: Value? { if case .known(let value) = self { value } else { nil } }
}

extension GraphQLEnum: RawRepresentable {
  /// Takes the server's spelling; every string is a value.
  public init(rawValue: String) {
    self = Value(rawValue: rawValue).map(Self.known) ?? .unknown(rawValue)
  }

  /// The server's spelling.
  public var rawValue: String {
    switch self {
    case .known(let value): value.rawValue
    case .unknown(let name): name
    }
  }
}

// By the spelling.
extension GraphQLEnum: Codable, JSONDecodable, JSONEncodable {}
