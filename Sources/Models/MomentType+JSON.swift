public import JSON

extension MomentType: JSONDecodable, JSONEncodable {
  /// Reads the server's spelling; every string is accepted.
  public init(from json: inout JSONReader) throws(JSONError) {
    if json.readString(ifEqualTo: "PHOTOS") {
      self = .photos
    } else if json.readString(ifEqualTo: "URL") {
      self = .url
    } else {
      self.init(rawValue: try json.readString())
    }
  }
}
