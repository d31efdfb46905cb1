import HTTPClientCore
public import SystemBase

/// How a request's body encodes its parameters.
///
/// To add a format, add a value of this type:
///
///     extension BodyFormat {
///       static let lines = BodyFormat(contentType: "text/plain") { parameters, _ in … }
///     }
public struct BodyFormat: Sendable {
  /// The value of `Content-Type`.
  public let contentType: String

  private let write: @Sendable (any Encodable & Sendable, any BodyEncoder) throws -> Data

  /// Makes a format from its media type and a closure that encodes parameters; it may use the client's encoder.
  public init(
    contentType: String, write: @escaping @Sendable (any Encodable & Sendable, any BodyEncoder) throws -> Data
  ) {
    self.contentType = contentType
    self.write = write
  }

  /// JSON, with the client's encoder.
  public static let json = BodyFormat(contentType: "application/json") { parameters, encoder in
    try encoder.encode(parameters)
  }

  /// The encoding of HTML forms: `name=value` pairs (WHATWG URL, section 5). The parameters must be flat: an object
  /// whose values are strings, numbers, booleans, or lists of these, which repeat the name.
  public static let form = BodyFormat(contentType: "application/x-www-form-urlencoded") { parameters, encoder in
    Data(QueryEncoder.text(of: try QueryEncoder.pairs(of: parameters, by: encoder)).utf8)
  }

  /// The parameters' bytes as they are, for sessions whose parameters are `Data`.
  public static func data(contentType: String) -> BodyFormat {
    BodyFormat(contentType: contentType) { parameters, _ in
      guard let data = parameters as? Data else {
        throw RequestError(.invalidRequest, "The body format 'data' requires parameters of the type Data.")
      }
      return data
    }
  }

  func encode(_ parameters: some Encodable & Sendable, _ encoder: any BodyEncoder) throws -> (Data, String) {
    (try write(parameters, encoder), contentType)
  }
}
