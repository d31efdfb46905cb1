public import Foundation

/// Decodes bodies. Set a client's `decoder` to use another JSON decoder.
public protocol BodyDecoder: Sendable {
  /// Decodes a value; throws a `DecodingError` with the path if it does not fit.
  func decode<Value: Decodable>(_ type: Value.Type, from body: Data) throws -> Value
}
