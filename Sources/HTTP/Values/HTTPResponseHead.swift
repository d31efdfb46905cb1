/// The head of an answer: its final status and its header fields.
public struct HTTPResponseHead: Hashable, Sendable {
  /// The status code: three digits, from a transport.
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

  /// Whether the status leads elsewhere (RFC 9110, section 15.4): 301, 302, 303, 307 or 308.
  package var isRedirect: Bool { [301, 302, 303, 307, 308].contains(status) }

  /// The media type of `Content-Type`, in lower case and without parameters; `nil` where there is none.
  public var mediaType: String? {
    guard let value = headers.first(where: { $0.hasName("Content-Type") })?.value else { return nil }
    guard !value.utf8.allSatisfy(\.isPlainInMediaType) else { return value.isEmpty ? nil : value }
    let type = value.utf8.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != .space && $0 != .tab }
    return type.isEmpty ? nil : String(decoding: type.map { $0.isUpperCase ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}

extension UInt8 {
  /// Whether a media type has this byte as a field's value has it.
  fileprivate var isPlainInMediaType: Bool { self > .space && self != UInt8(ascii: ";") && !isUpperCase }
}
