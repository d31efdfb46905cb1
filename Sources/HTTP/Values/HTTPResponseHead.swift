/// The head of an answer: its final status and its header fields.
public struct HTTPResponseHead: Hashable, Sendable {
  /// The status code, three digits.
  public var status: Int

  /// The header fields, as the server sent them.
  public var headers: HTTPHeaders

  /// Makes a head.
  public init(status: Int, headers: HTTPHeaders = HTTPHeaders()) {
    self.status = status
    self.headers = headers
  }

  /// Whether the status is one of success: 200 to 299.
  public var isSuccess: Bool { (200...299).contains(status) }

  /// The media type of `Content-Type`, in lower case and without parameters; `nil` where there is none.
  public var mediaType: String? {
    guard let value = headers.first(where: { $0.hasName("Content-Type") })?.value.utf8 else { return nil }
    var type: [UInt8] = []
    type.reserveCapacity(value.count)
    for byte in value.prefix(while: { $0 != UInt8(ascii: ";") }) where byte != .space && byte != .tab {
      type.append(UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte)
    }
    return type.isEmpty ? nil : String(decoding: type, as: UTF8.self)
  }
}
