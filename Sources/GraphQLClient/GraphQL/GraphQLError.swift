import HTTPClientCore
public import StrictJSON

/// An error in a GraphQL response (GraphQL specification, section 7.1.2), bounded in size.
public struct GraphQLError: Hashable, Sendable {
  /// A position in the document.
  public struct Location: Hashable, Sendable, Encodable {
    /// Counts from 1.
    public let line: Int
    /// Counts from 1.
    public let column: Int

    /// Makes a position.
    public init(line: Int, column: Int) {
      self.line = line
      self.column = column
    }
  }

  /// A step of a path into `data`.
  public enum PathElement: Hashable, Sendable {
    /// A member of an object.
    case key(String)
    /// An element of a list, from 0.
    case index(Int)
  }

  /// The server's message, at most 1 KiB of it.
  public let message: String

  /// The positions in the document; at most 8.
  public let locations: [Location]

  /// The path into `data`; empty if the error is about the whole response. At most 32 steps and 512 bytes.
  public let path: [PathElement]

  /// What else the server says, as far as it fits into 2 KiB; if its text takes more than 16 KiB, only the member
  /// `code`.
  public let extensions: [String: JSONValue]

  /// An error as a server would send it, for tests, and for a server that relays errors.
  public init(
    message: String, locations: [Location] = [], path: [PathElement] = [], extensions: [String: JSONValue] = [:]
  ) {
    self.message = message
    self.locations = locations
    self.path = path
    self.extensions = extensions
  }

  /// The `code` in the extensions, by which servers classify errors, such as `UNAUTHENTICATED`.
  public var code: String? { extensions["code"]?.stringValue }

  /// Whether the server requires a token, or a valid one: the code is `UNAUTHENTICATED`, as in Apollo Server.
  public var isUnauthenticated: Bool { code == Self.unauthenticatedCode }

  static let unauthenticatedCode = "UNAUTHENTICATED"
}

extension GraphQLError: CustomStringConvertible {
  /// Message, path and code on one line.
  public var description: String {
    let place = path.isEmpty ? "" : " (at \(pathText))"
    return message.sanitized(upTo: 1024) + place + (code.map { " [\($0.sanitized(upTo: 64))]" } ?? "")
  }

  /// The path as text: `items[3].count`.
  public var pathText: String {
    path.reduce(into: "") { text, element in
      switch element {
      case .index(let index): text += "[\(index)]"
      case .key(let key): text += (text.isEmpty ? "" : ".") + key.sanitized(upTo: 64)
      }
    }
  }
}

extension GraphQLError: Encodable {
  private enum CodingKeys: String, CodingKey {
    case message, locations, path, extensions
  }

  /// Writes the error in the form of the specification, to relay it or to keep it; empty members are left out.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(message, forKey: .message)
    if !locations.isEmpty { try container.encode(locations, forKey: .locations) }
    if !path.isEmpty { try container.encode(path, forKey: .path) }
    if !extensions.isEmpty { try container.encode(extensions, forKey: .extensions) }
  }
}

extension GraphQLError.PathElement: Encodable {
  /// Writes a member name or a list index.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .key(let key): try container.encode(key)
    case .index(let index): try container.encode(index)
    }
  }
}

extension GraphQLError: JSONDecodable {
  /// Reads an error. Members that do not conform to the specification are left out, so that no error is lost; AWS
  /// AppSync's `errorType` is taken as the `code` in the extensions, if there is none.
  public init(from json: inout JSONReader) throws(JSONError) {
    guard try json.nextKind() == .object else {
      try json.skipValue()
      self.init(message: "The server sent an error in an unknown form.")
      return
    }
    var message: String?
    var locations: [Location]?
    var path: [PathElement]?
    var extensions: [String: JSONValue]?
    var type: String?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "message") {
        message = try json.readOrSkip()
      } else if json.key(is: "locations") {
        locations = try json.readOrSkip()
      } else if json.key(is: "path") {
        path = (try json.readOrSkip() as FirstSteps?)?.steps
      } else if json.key(is: "extensions") {
        extensions = try json.readExtensions(upTo: 16 << 10)
      } else if json.key(is: "errorType") {
        type = try json.readOrSkip()
      } else {
        try json.skipValue()
      }
    }
    if let type, extensions?["code"] == nil { extensions = (extensions ?? [:]).merging(["code": .string(type)]) { $1 } }
    self.init(
      message: (message ?? type ?? "The server sent an error without a message.").prefix(bytes: 1024),
      locations: Array((locations ?? []).prefix(8)), path: (path ?? []).bounded(to: 512),
      extensions: (extensions ?? [:]).bounded(to: 2048))
  }
}

extension JSONReader {
  /// Skips the next value if its text takes more bytes than `limit`, and says whether it did. Otherwise the value is
  /// still to be read.
  mutating func skipValue(over limit: Int) throws(JSONError) -> Bool {
    _ = try nextKind()
    let start = offset
    try skipValue()
    if offset - start > limit { return true }
    goBack(to: start)
    return false
  }

  /// Reads an object whose text takes at most `limit` bytes, since as values it takes about 40 times as much memory; of a
  /// larger one only the member `code`, if that does.
  fileprivate mutating func readExtensions(upTo limit: Int) throws(JSONError) -> [String: JSONValue]? {
    guard try nextKind() == .object else {
      try skipValue()
      return nil
    }
    let start = offset
    guard try skipValue(over: limit) else { return try readOrSkip() }
    goBack(to: start)
    var code: JSONValue?
    try beginObject()
    while try nextKey() {
      if !key(is: "code") {
        try skipValue()
      } else if try !skipValue(over: limit) {
        code = try readOrSkip()
      }
    }
    return code.map { ["code": $0] }
  }

  /// Reads a value, or skips it if it does not fit.
  fileprivate mutating func readOrSkip<Value: JSONDecodable>() throws(JSONError) -> Value? {
    let result = try readResult(Value.self)
    return try? result.get()
  }
}

extension GraphQLError.Location: JSONDecodable {
  /// Reads a location; both numbers are required.
  public init(from json: inout JSONReader) throws(JSONError) {
    var line: Int?
    var column: Int?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "line") {
        line = try json.read()
      } else if json.key(is: "column") {
        column = try json.read()
      } else {
        try json.skipValue()
      }
    }
    self.init(line: try json.require(line, "line"), column: try json.require(column, "column"))
  }
}

extension GraphQLError.PathElement: JSONDecodable {
  /// Reads a member name or a list index.
  public init(from json: inout JSONReader) throws(JSONError) {
    self = try json.nextKind() == .number ? .index(json.readInteger()) : .key(json.readName())
  }
}

/// The first 32 steps of a path of any length, with at most 128 bytes of each name, which may be any text.
private struct FirstSteps: JSONDecodable {
  private static let limit = 32
  var steps: [GraphQLError.PathElement] = []

  init(from json: inout JSONReader) throws(JSONError) {
    try json.beginArray()
    while try json.nextElement() {
      if steps.count >= Self.limit {
        try json.skipValue()
      } else if try json.nextKind() == .number {
        steps.append(.index(try json.readInteger()))
      } else {
        steps.append(.key(try json.readString().prefix(bytes: 128)))
      }
    }
  }
}

extension [GraphQLError.PathElement] {
  /// The first steps that fit into a number of bytes.
  fileprivate func bounded(to limit: Int) -> Self {
    var left = limit
    return Array(
      prefix { step in
        if case .key(let key) = step { left -= key.utf8.count } else { left -= 8 }
        return left >= 0
      })
  }
}

extension [String: JSONValue] {
  /// The members that fit into a number of bytes: `code` first, then the others by name.
  fileprivate func bounded(to limit: Int) -> Self {
    var left = limit
    let inOrder = sorted { $1.key != "code" && ($0.key == "code" || $0.key < $1.key) }
    return inOrder.reduce(into: [:]) { kept, member in
      let size = member.key.utf8.count + member.value.approximateSize
      guard size <= left else { return }
      left -= size
      kept[member.key] = member.value
    }
  }
}

extension JSONValue {
  /// Roughly how many bytes the value takes as JSON.
  fileprivate var approximateSize: Int {
    switch self {
    case .null, .bool, .integer, .number: 8
    case .literal(let number): number.text.utf8.count
    case .string(let text): text.utf8.count + 2
    case .array(let elements): elements.reduce(2) { $0 + $1.approximateSize }
    case .object(let members): members.reduce(2) { $0 + $1.key.utf8.count + 4 + $1.value.approximateSize }
    }
  }
}
