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
    guard let value = headers.values(of: "Content-Type").first?.prefix(while: { $0 != ";" }) else { return nil }
    let type = value.lowercased().filter { $0 != " " && $0 != "\t" }
    return type.isEmpty ? nil : type
  }
}
