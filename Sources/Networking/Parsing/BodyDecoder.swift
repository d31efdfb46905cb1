public import Foundation

/// Reads a body as a value. Set a client's `decoder` to use another JSON reader.
public protocol BodyDecoder: Sendable {
  /// Reads a value; throws a `DecodingError` with the path where it does not fit.
  func decode<Value: Decodable>(_ type: Value.Type, from body: Data) throws -> Value
}
