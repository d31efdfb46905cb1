public import StrictJSON

/// What a moment shows: the enum `MomentType` of `schema.graphql`.
///
/// A server may know more values than this client. An unknown value is kept, and written back unchanged.
public enum MomentType: Hashable, Sendable {
  /// A link to a page.
  case url

  /// One or more photos.
  case photos

  /// A value that this version does not know, in the server's spelling.
  case unknown(String)
}

extension MomentType: RawRepresentable {
  /// Takes the server's spelling; every string is accepted.
  public init(rawValue: String) {
    switch rawValue {
    case "URL": self = .url
    case "PHOTOS": self = .photos
    default: self = .unknown(rawValue)
    }
  }

  /// The server's spelling.
  public var rawValue: String {
    switch self {
    case .url: "URL"
    case .photos: "PHOTOS"
    case .unknown(let value): value
    }
  }
}

extension MomentType: Codable {}

extension MomentType: JSONDecodable, JSONEncodable {
  /// Reads the server's spelling; every string is accepted that has at most 30 combining characters in a row.
  public init(from json: inout JSONReader) throws(JSONError) {
    if json.readString(ifEqualTo: "PHOTOS") {
      self = .photos
    } else if json.readString(ifEqualTo: "URL") {
      self = .url
    } else {
      self.init(rawValue: try json.readName())
    }
  }
}
