public import SystemBase

/// Why a JSON text cannot be read or a value cannot be written: the place, and what was expected there.
///
/// Of the text it keeps only the keys that lead to the place, each cut to 64 bytes.
public struct JSONError: Error, Hashable, Sendable {
  /// What went wrong. Cases may be added.
  @nonexhaustive
  public enum Kind: Hashable, Sendable {
    /// The text is not JSON.
    case malformed
    /// Arrays and objects nest deeper than ``JSONReader/depthLimit``, or than the stack of the thread has room for.
    case tooDeep
    /// The value is of another kind.
    case mismatch(JSONReader.Kind)
    /// The object has no member with this name, or only `null`.
    case missing(key: String)
    /// The number is not whole, or does not fit.
    case outOfRange
    /// The value is of the right kind, but its type rejects it.
    case invalid
  }

  /// One step of a path.
  public enum PathElement: Hashable, Sendable {
    /// A member of an object.
    case key(String)
    /// An element of an array, from 0.
    case index(Int)
  }

  // One word, so that it fits into a register beside every result.
  private let details: Details

  private final class Details: Sendable {
    let kind: Kind
    let path: [PathElement]
    let offset: Int
    let expected: String

    init(kind: Kind, path: [PathElement], offset: Int, expected: String) {
      self.kind = kind
      self.path = path
      self.offset = offset
      self.expected = expected
    }
  }

  /// For a decoder of one's own: an error at the byte `offset` of the text, where something else was `expected`.
  public init(_ kind: Kind, path: [PathElement], offset: Int, expected: String) {
    details = Details(kind: kind, path: path, offset: offset, expected: expected)
  }

  /// What went wrong.
  public var kind: Kind { details.kind }

  /// The path from the outermost value to the place.
  public var path: [PathElement] { details.path }

  /// The place in the text, in bytes from its start.
  public var offset: Int { details.offset }

  /// What was expected at the place: `a whole number`, for example.
  public var expected: String { details.expected }

  /// What is expected of the depth of a text.
  static var expectedLevels: String { "\(JSONReader.depthLimit)" }

  static var expectedRoom: String { "the stack of this thread has room for" }

  @usableFromInline static var empty: JSONError {
    JSONError(.malformed, path: [], offset: 0, expected: "a value")
  }

  /// Whether kind, place and expectation are equal.
  public static func == (left: JSONError, right: JSONError) -> Bool {
    left.kind == right.kind && left.path == right.path && left.offset == right.offset && left.expected == right.expected
  }

  /// Hashes kind and place.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    hasher.combine(path)
    hasher.combine(offset)
  }
}

extension JSONError: CustomStringConvertible {
  /// Place and reason: `At items[3].id (byte 120): expected a string, found a number`.
  public var description: String {
    (path.isEmpty ? "At byte \(offset): " : "At \(pathText) (byte \(offset)): ") + reason
  }

  /// The path as text: `items[3].id`; control characters in keys are left out.
  public var pathText: String {
    path.reduce(into: "") { text, element in
      switch element {
      case .index(let index): text += "[\(index)]"
      case .key(let key):
        if !text.isEmpty { text += "." }
        text.unicodeScalars.append(contentsOf: key.unicodeScalars.filter { $0.properties.generalCategory != .control })
      }
    }
  }

  /// What was expected, and what was found.
  public var reason: String {
    switch kind {
    case .malformed, .outOfRange, .invalid: "expected \(expected)"
    case .tooDeep: "arrays and objects nest deeper than \(expected)"
    case .mismatch(let found): "expected \(expected), found \(found.name)"
    case .missing: "a value is missing"
    }
  }
}

extension JSONReader.Kind {
  /// The kind in words.
  var name: String {
    switch self {
    case .object: "an object"
    case .array: "an array"
    case .string: "a string"
    case .number: "a number"
    case .boolean: "true or false"
    case .null: "null"
    }
  }
}

extension JSONError: LocalizedError {
  /// What `localizedDescription` gives: the description.
  public var errorDescription: String? { description }
}

extension DecodingError {
  /// Converts a reader's error.
  init(_ error: JSONError, type: Any.Type) {
    var path = error.codingPath
    let missing = path.last
    if case .missing = error.kind { _ = path.popLast() }
    let context = Context(codingPath: path, debugDescription: error.description, underlyingError: error)
    self =
      switch error.kind {
      case .missing(let key): .keyNotFound(missing ?? JSONKey(stringValue: key), context)
      case .mismatch(.null): .valueNotFound(type, context)
      case .mismatch: .typeMismatch(type, context)
      case .malformed, .tooDeep, .outOfRange, .invalid: .dataCorrupted(context)
      }
  }
}

extension EncodingError {
  /// Converts a writer's error. `path` leads to the value, and the error's own path on from there.
  init(_ error: JSONError, value: Any, inside path: [any CodingKey] = []) {
    let context = Context(
      codingPath: path + error.codingPath, debugDescription: "Cannot be written: \(error.reason).",
      underlyingError: path.isEmpty ? error : error.inside(path, from: 0))
    self = .invalidValue(value, context)
  }
}

extension JSONError.PathElement {
  /// A step of a coder's path, with the start of its key.
  init(_ key: any CodingKey) {
    self = key.intValue.map(Self.index) ?? .key(key.stringValue.asPathKey)
  }
}

extension JSONError {
  /// This error of a nested value as an error of the whole text. `outer` is the path to that value, `start` its offset.
  func inside(_ outer: [any CodingKey], from start: Int) -> JSONError {
    JSONError(kind, path: outer.map(PathElement.init) + path, offset: start + offset, expected: expected)
  }

  var codingPath: [any CodingKey] {
    path.map {
      switch $0 {
      case .key(let key): JSONKey(stringValue: key)
      case .index(let index): JSONKey(intValue: index)
      }
    }
  }
}
