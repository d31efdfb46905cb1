public import Foundation

/// Writes a value as a body: the client's one place to put another JSON writer.
public protocol BodyEncoder: Sendable {
  /// Writes a value; throws an `EncodingError` where it cannot be written.
  func encode(_ value: some Encodable) throws -> Data
}
