public import StrictJSON
public import SystemBase

/// Decodes bodies. Set a client's `decoder` to use another JSON decoder.
public protocol BodyDecoder: Sendable {
  /// Decodes a value; throws a `DecodingError` with the path if it does not fit.
  func decode<Value: Decodable>(_ type: Value.Type, from body: Data) throws -> Value
}

/// Encodes bodies. Set a client's `encoder` to use another JSON encoder.
public protocol BodyEncoder: Sendable {
  /// Encodes a value; throws an `EncodingError` if that is not possible.
  func encode(_ value: some Encodable) throws -> Data
}

extension JSONCoder: BodyDecoder, BodyEncoder {}

extension BodyDecoder {
  /// Decodes a value from bytes, which are copied for other decoders than the SDK's own.
  package func decode<Value: Decodable>(_ type: Value.Type, from text: PaddedBytes) throws -> Value {
    if let coder = self as? JSONCoder { return try coder.decode(type, from: text) }
    return try decode(type, from: Data(text.bytes))
  }
}
