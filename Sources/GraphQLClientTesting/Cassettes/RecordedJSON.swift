import HTTPClientCore
import StrictJSON

/// A JSON value as it stands in a cassette: members keep their order, numbers their spelling.
indirect enum RecordedJSON: Hashable, Sendable {
  struct Member: Hashable, Sendable {
    let key: String
    let value: RecordedJSON
  }

  /// A number, `true`, `false` or `null`.
  case scalar(RawJSON)
  case string(String)
  case array([RecordedJSON])
  case object([Member])

  /// Less than that of a reader, so that the value can stand inside of a cassette.
  private static let depthLimit = 100

  /// Reads a whole text; `nil` if it is not JSON, nests too deep, or cuts a character of a string.
  init?(_ text: some StringProtocol) {
    guard let value = try? RecordedJSON(json: String(text)) else { return nil }
    self = value
  }

  /// The value of the first member with this key.
  subscript(key: String) -> RecordedJSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.key == key }?.value
  }

  /// The value with the members of all objects sorted by key, for what has no order of its own.
  var sorted: RecordedJSON {
    switch self {
    case .scalar, .string: self
    case .array(let elements): .array(elements.map(\.sorted))
    case .object(let members):
      .object(members.map { Member(key: $0.key, value: $0.value.sorted) }.sorted { $0.key < $1.key })
    }
  }

  /// The shortest text.
  var text: String {
    // It cannot fail: the value was read, or made of values that were.
    (try? json()).map { String(decoding: $0, as: UTF8.self) } ?? "null"
  }
}

extension RecordedJSON: JSONDecodable, JSONEncodable {
  init(from json: inout JSONReader) throws(JSONError) {
    try self.init(from: &json, depth: 0)
  }

  private init(from json: inout JSONReader, depth: Int) throws(JSONError) {
    guard depth < Self.depthLimit else { throw json.mismatch("fewer than \(Self.depthLimit) levels") }
    switch try json.nextKind() {
    case .string: self = .string(try json.readString())
    case .number, .boolean, .null: self = .scalar(try json.readRaw())
    case .array:
      var elements: [RecordedJSON] = []
      try json.beginArray()
      while try json.nextElement() { elements.append(try RecordedJSON(from: &json, depth: depth + 1)) }
      self = .array(elements)
    case .object:
      var members: [Member] = []
      try json.beginObject()
      while try json.nextKey() {
        let key = json.key
        members.append(Member(key: key, value: try RecordedJSON(from: &json, depth: depth + 1)))
      }
      self = .object(members)
    }
  }

  func encode(to json: inout JSONWriter) {
    switch self {
    case .scalar(let raw): json.writeRaw(raw)
    case .string(let text): json.writeString(text)
    case .array(let elements):
      json.beginArray()
      for element in elements { element.encode(to: &json) }
      json.endArray()
    case .object(let members):
      json.beginObject()
      for member in members {
        json.writeKey(member.key)
        member.value.encode(to: &json)
      }
      json.endObject()
    }
  }
}

extension String {
  /// Whether another text has the same parts as this recorded one, and anything in the place of each placeholder.
  func matchesRedacted(_ other: String) -> Bool {
    let parts = replacing(SecretFinder.placeholderInURL, with: Redactor.placeholder)
      .split(separator: Redactor.placeholder, omittingEmptySubsequences: false)
    guard parts.count > 1, let first = parts.first, let last = parts.last else { return self == other }
    guard other.utf8.count >= first.utf8.count + last.utf8.count, other.hasPrefix(first), other.hasSuffix(last) else {
      return false
    }
    var rest = other.dropFirst(first.count).dropLast(last.count)
    for part in parts.dropFirst().dropLast() where !part.isEmpty {
      guard let found = rest.firstRange(of: part) else { return false }
      rest = rest[found.upperBound...]
    }
    return true
  }
}

extension RecordedJSON {
  /// Where the value of a request differs from this recorded one: paths, and what stands there. A recorded placeholder
  /// equals any string or number; the order of members does not count.
  func differences(from requested: RecordedJSON, at path: String) -> [String] {
    switch (self, requested) {
    case (.string(Redactor.placeholder), .string), (.string(Redactor.placeholder), .scalar): return []
    case (.string(let recorded), .string(let requested)) where recorded.matchesRedacted(requested): return []
    case (.array(let recorded), .array(let requested)):
      guard recorded.count == requested.count else {
        return ["\(path): recorded with \(recorded.count) elements, requested with \(requested.count)"]
      }
      return zip(recorded, requested).enumerated().flatMap { index, pair in
        pair.0.differences(from: pair.1, at: "\(path)[\(index)]")
      }
    case (.object(let recorded), .object(let requested)):
      let recordedKeys = Dictionary(recorded.map { ($0.key, $0.value) }) { $1 }
      let requestedKeys = Dictionary(requested.map { ($0.key, $0.value) }) { $1 }
      return Set(recordedKeys.keys).union(requestedKeys.keys).sorted().flatMap { key in
        let path = "\(path).\(key)"
        switch (recordedKeys[key], requestedKeys[key]) {
        case (let recorded?, let requested?): return recorded.differences(from: requested, at: path)
        case (_?, nil): return ["\(path): recorded, and not requested"]
        default: return ["\(path): requested, and not recorded"]
        }
      }
    default: return isEqual(to: requested) ? [] : ["\(path): recorded \(shown), requested \(requested.shown)"]
    }
  }

  private func isEqual(to other: RecordedJSON) -> Bool {
    if self == other { return true }
    guard case .scalar(let left) = self, case .scalar(let right) = other else { return false }
    // 1 and 1.0 are the same number.
    return (try? JSONValue(json: left.bytes.span.bytes)) == (try? JSONValue(json: right.bytes.span.bytes))
  }

  private var shown: String {
    switch self {
    case .array: "an array"
    case .object: "an object"
    case .scalar, .string: text.sanitized(upTo: 60)
    }
  }
}
