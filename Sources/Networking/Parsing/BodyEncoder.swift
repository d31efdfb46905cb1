public import Foundation

/// Writes a value as a body. Set a client's `encoder` to use another JSON writer.
public protocol BodyEncoder: Sendable {
  /// Writes a value; throws an `EncodingError` where it cannot be written.
  func encode(_ value: some Encodable) throws -> Data
}
