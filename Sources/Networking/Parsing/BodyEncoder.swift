public import Foundation

/// Encodes bodies. Set a client's `encoder` to use another JSON encoder.
public protocol BodyEncoder: Sendable {
  /// Encodes a value; throws an `EncodingError` if that is not possible.
  func encode(_ value: some Encodable) throws -> Data
}
