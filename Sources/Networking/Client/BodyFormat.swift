public import Foundation
import HTTP

/// How a request's body carries its parameters.
///
/// Another format is another value of this type:
///
///     extension BodyFormat {
///       static let lines = BodyFormat(contentType: "text/plain") { parameters, _ in … }
///     }
public struct BodyFormat: Sendable {
  /// What `Content-Type` says of such a body.
  public let contentType: String

  private let write: @Sendable (any Encodable & Sendable, any BodyEncoder) throws -> Data

  /// Takes the media type, and the closure that writes parameters, given the client's encoder.
  public init(
    contentType: String, write: @escaping @Sendable (any Encodable & Sendable, any BodyEncoder) throws -> Data
  ) {
    self.contentType = contentType
    self.write = write
  }

  /// JSON, by the client's encoder.
  public static let json = BodyFormat(contentType: "application/json") { parameters, encoder in
    try encoder.encode(parameters)
  }

  /// The form of HTML forms: `name=value` pairs (WHATWG URL, section 5). The parameters must be flat: an object whose
  /// values are strings, numbers, booleans, or lists of these, which give the name several times.
  public static let form = BodyFormat(contentType: "application/x-www-form-urlencoded") { parameters, encoder in
    Data(QueryEncoder.text(of: try QueryEncoder.pairs(of: parameters, by: encoder)).utf8)
  }

  /// Bytes as they are: for sessions whose parameters are `Data`.
  public static func data(contentType: String) -> BodyFormat {
    BodyFormat(contentType: contentType) { parameters, _ in
      guard let data = parameters as? Data else {
        throw RequestError(.invalidRequest, "The body format 'data' takes parameters of the type Data.")
      }
      return data
    }
  }

  func encode(_ parameters: some Encodable & Sendable, _ encoder: any BodyEncoder) throws -> (Data, String) {
    (try write(parameters, encoder), contentType)
  }
}
