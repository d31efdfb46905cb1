public import Platform

/// A body in a form that a file can hold: as text if it is UTF-8, otherwise as Base64.
public struct RecordedBody: Codable, Hashable, Sendable {
  /// The bytes.
  public let data: Data

  private enum CodingKeys: String, CodingKey {
    case text, base64
  }

  /// Takes the bytes.
  public init(_ data: Data) {
    self.data = data
  }

  /// Reads a body.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if let text = try container.decodeIfPresent(String.self, forKey: .text) {
      data = Data(text.utf8)
    } else {
      data = try container.decode(Data.self, forKey: .base64)
    }
  }

  /// Writes a body.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    if let text = String(validating: data, as: UTF8.self) {
      try container.encode(text, forKey: .text)
    } else {
      try container.encode(data, forKey: .base64)
    }
  }
}
