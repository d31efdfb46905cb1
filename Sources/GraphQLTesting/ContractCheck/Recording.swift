import GraphQLClient
import GraphQLSchema
import StrictJSON
import SystemBase

/// What a decoder asked of a response, and where that does not fit.
///
/// Where a request does not fit, a value of the wanted type is made up, so that decoding continues and one response shows
/// all that is wrong; or an error is thrown, as the real decoder does, to see whether that is caught.
final class Recording {
  struct Problem {
    /// What problems have in common that are one mistake.
    struct Key: Hashable {
      let path: String
      let kind: String
    }

    let key: Key
    /// What it is about that others of the key may not be: a type, or a value.
    var subject: String?
    /// What is wrong, for all subjects.
    let message: ([String]) -> String
    var severity = SessionCheck.Finding.Severity.error
    /// Whether decoding fails because of it; else a member that is not there is taken for null.
    var isFailure = true
    /// Whether it says no more than the other problems of its key if the type is one from the future.
    var isImpliedByToday = false

    init(_ path: String, _ kind: String, _ message: String) {
      key = Key(path: path, kind: kind)
      self.message = { _ in message }
    }

    init(_ path: String, _ kind: String, of subject: String, _ message: @escaping ([String]) -> String) {
      key = Key(path: path, kind: kind)
      self.subject = subject
      self.message = message
    }
  }

  /// Where errors are thrown.
  enum Throwing {
    case nowhere
    case at(Set<Problem.Key>)
    case everywhere
  }

  enum Outcome {
    case value
    /// An error ended it.
    case thrown
    /// No value could be made up.
    case stopped
  }

  /// What ends a recording where no value can be made up; the reason is recorded.
  struct Stop: Error {}

  private(set) var problems: [Problem] = []
  private(set) var outcome = Outcome.value
  /// The paths of scalars of which nothing is known but that a decoder accepts some value.
  private(set) var guessed: Set<String> = []
  /// The objects that the real decoder has a type read by its bytes, with the types.
  private(set) var byteReaders: [String: String] = [:]
  let userInfo: [CodingUserInfoKey: Any]
  /// Reads parts of responses where the way of reading depends on the decoder: dates, for example.
  private let decoder: any BodyDecoder
  private let throwing: Throwing
  /// The objects that are being read, each by a type, the innermost last.
  private var open: [(type: ObjectIdentifier, object: ResponseNode.Object)] = []
  /// The types of which a value is being made up.
  private var madeUpTypes: Set<ObjectIdentifier> = []
  private var depth = 0
  /// Whether an error was thrown that nobody has caught yet, as far as is known.
  private var isPropagating = false

  /// How many types may be read within one another: more than any response nests.
  private static let deepest = 500

  init(
    decoder: any BodyDecoder, userInfo: [CodingUserInfoKey: Any]? = nil, throwing: Throwing = .nowhere
  ) {
    self.decoder = decoder
    self.userInfo = userInfo ?? decoder.userInfo
    self.throwing = throwing
  }

  /// Reads a response; `nil` if no value could be made up for something that did not fit, or an error was thrown.
  @discardableResult
  func read<Value: Decodable>(_ type: Value.Type, from response: ResponseNode) -> Value? {
    do {
      return try read(type, .node(response), at: [])
    } catch is Stop {
      outcome = .stopped
    } catch {
      outcome = .thrown
    }
    return nil
  }

  /// Records that something does not fit, and throws if that is wanted.
  func record(_ problem: Problem, _ error: (any Error)? = nil) throws {
    problems.append(problem)
    let isThrown =
      switch throwing {
      case .nowhere: false
      case .at(let keys): keys.contains(problem.key)
      case .everywhere: true
      }
    guard problem.isFailure, isThrown else { return }
    isPropagating = true
    throw error
      ?? DecodingError.dataCorrupted(
        .init(codingPath: [], debugDescription: problem.message([problem.subject ?? ""])))
  }
}

/// What is decoded: a part of a response, or whatever the decoder likes, where something did not fit.
enum RecordedSource {
  case node(ResponseNode)
  case anything
}

extension Recording {
  func read<Value: Decodable>(
    _ type: Value.Type, _ source: RecordedSource, at path: [any CodingKey]
  ) throws -> Value {
    // A decoder that reads on has caught what was thrown before.
    isPropagating = false
    guard case .node(let node) = source else { return try madeUp(type, at: path) }
    node.place.isRead = true
    if let primitive = type as? any RecordedPrimitive.Type,
      let value = try primitiveValue(primitive, of: node) as? Value
    {
      return value
    }
    if type == JSONValue.self, let value = node.value as? Value {
      node.markRead()
      return value
    }
    if case .leaf(let leaf) = node.content, leaf.kind.isCustom || type is any ReadByDecoder.Type {
      return try leafValue(type, leaf, at: node.place, path)
    }
    if case .object = node.content, readsBytes(type) { byteReaders[node.place.path] = "\(type)" }
    do {
      return try nested(type, node) {
        try Value(from: RecordingDecoder(recording: self, source: source, type: "\(type)", codingPath: path))
      }
    } catch {
      if error is Stop || isPropagating { throw error }
      try recordRefusal(by: type, of: node, error)
      return try substitute(type, for: node, at: path)
    }
  }

  /// Whether the real decoder lets a type read the bytes, of which the recording sees nothing.
  private func readsBytes(_ type: any Decodable.Type) -> Bool {
    decoder is JSONCoder && type is any JSONDecodable.Type && !(type is any ReadsAnyKey.Type)
  }

  private func nested<Value>(_ type: Value.Type, _ node: ResponseNode, _ body: () throws -> Value) throws -> Value {
    guard depth < Self.deepest else { throw Stop() }
    depth += 1
    defer { depth -= 1 }
    guard case .object(let object) = node.content else { return try body() }
    open.append((ObjectIdentifier(type), object))
    defer { open.removeLast() }
    return try body()
  }

  /// Whether the type that is being read reads a member further out, where it is selected: a type that contains itself
  /// may be read as deep as the document selects it.
  private func isReadFurtherOut(_ key: String) -> Bool {
    guard let type = open.last?.type else { return false }
    return open.dropLast().contains { $0.type == type && $0.object.member(key) != nil }
  }

  private func primitiveValue(_ type: any RecordedPrimitive.Type, of node: ResponseNode) throws -> any RecordedPrimitive
  {
    if case .leaf(let leaf) = node.content {
      if let value = type.init(recorded: node.place.accepted ?? leaf.value) { return value }
      if leaf.kind.isUnknown, node.place.accepted == nil,
        let (guess, value) = ScalarSamples.guesses.lazy.compactMap({ guess in
          type.init(recorded: guess).map { (guess, $0) }
        }
        ).first
      {
        node.place.accepted = guess
        guessed.insert(node.place.path)
        return value
      }
    }
    try recordMismatch(node, "\(type)")
    return type.madeUp
  }

  /// Reads a scalar by the real decoder.
  private func leafValue<Value: Decodable>(
    _ type: Value.Type, _ leaf: ResponseNode.Leaf, at place: Place, _ path: [any CodingKey]
  ) throws -> Value {
    var candidates = [place.accepted ?? leaf.value]
    if leaf.kind.isUnknown, place.accepted == nil { candidates = ScalarSamples.guesses }
    for candidate in candidates {
      guard let text = try? candidate.json(), let value = try? decoder.decode(type, from: text) else { continue }
      if leaf.kind.isUnknown {
        place.accepted = candidate
        guessed.insert(place.path)
      }
      return value
    }
    try recordMismatch(ResponseNode(place: place, content: .leaf(leaf)), "\(type)")
    return try madeUp(type, at: path)
  }

  /// A value of a type that was not given one that it accepts.
  func madeUp<Value: Decodable>(_ type: Value.Type, at path: [any CodingKey]) throws -> Value {
    if let primitive = type as? any RecordedPrimitive.Type, let value = primitive.madeUp as? Value { return value }
    if let known = type as? any ReadByDecoder.Type, let value = known.madeUp as? Value { return value }
    // A type that contains itself ends nowhere where everything is made up.
    guard depth < Self.deepest, madeUpTypes.insert(ObjectIdentifier(type)).inserted else { throw Stop() }
    depth += 1
    defer {
      depth -= 1
      madeUpTypes.remove(ObjectIdentifier(type))
    }
    do {
      return try Value(from: RecordingDecoder(recording: self, source: .anything, type: "\(type)", codingPath: path))
    } catch {
      throw Stop()
    }
  }

  /// Another value that the type accepts: another value of the enum.
  private func substitute<Value: Decodable>(
    _ type: Value.Type, for node: ResponseNode, at path: [any CodingKey]
  ) throws -> Value {
    if case .leaf(let leaf) = node.content, case .enumValue = leaf.kind {
      for value in node.place.type?.named.values ?? [] {
        let other = ResponseNode(
          place: node.place, content: .leaf(.init(value: .string(value.name), kind: .enumValue(isFuture: false))))
        let decoder = RecordingDecoder(recording: self, source: .node(other), type: "\(type)", codingPath: path)
        if let value = try? Value(from: decoder) { return value }
      }
    }
    return try madeUp(type, at: path)
  }
}

// MARK: - Problems

extension Recording {
  /// Something is asked for as a type that it is not.
  func recordMismatch(_ node: ResponseNode, _ type: String) throws {
    let path = node.place.path
    let schemaType = node.place.type?.nullable.description ?? "an object"
    if case .null = node.content {
      return try record(
        Problem(path, "null", "the schema says it can be null, but it is read as \(type), not \(type)?"))
    }
    if case .leaf(let leaf) = node.content, leaf.value.numberValue != nil, !leaf.kind.isUnknown,
      schemaType == "Int" && type.contains("Int") && leaf.value != 1
        || schemaType == "Float" && type == "Float" && (leaf.value.numberValue?.magnitude ?? 0) > 2
    {
      return try record(
        Problem(path, "range", of: leaf.value.text) {
          "is \(schemaType) in the schema, and can be \(list($0, or: true)), which \(type) cannot hold"
        })
    }
    try record(Problem(path, "type", "is \(schemaType) in the schema, but is read as \(type)"))
  }

  /// A type refuses what it was given.
  private func recordRefusal<Value>(by type: Value.Type, of node: ResponseNode, _ error: any Error) throws {
    let path = node.place.path
    let schemaType = node.place.type?.named.name ?? "the data"
    let reason = reason(error)
    switch node.content {
    case .leaf(let leaf):
      switch (leaf.kind, leaf.value) {
      case (.enumValue(isFuture: true), _):
        try record(
          Problem(
            path, "later value",
            "\(type) fails for a value that the server adds to \(schemaType) later (use GraphQLEnum)"), error)
      case (.enumValue, .string(let name)):
        try record(
          Problem(path, "value", of: "\(schemaType).\(name)") {
            "\(list($0)) \($0.count > 1 ? "are" : "is") in the schema, but \(type) does not accept "
              + ($0.count > 1 ? "them" : "it")
          }, error)
      default:
        try record(
          Problem(path, "refused", of: node.json()) {
            "\(type) does not accept \(list($0, or: true)), which is \(schemaType) in the schema"
          }, error)
      }
    case .object(let object) where object.type.isFuture:
      try record(
        Problem(path, "later type", "\(type) fails for a type that the server adds to \(schemaType) later"), error)
    case .null: try recordMismatch(node, "\(type)")
    case .object(let object):
      try record(
        Problem(path, "refused", of: object.type.name) {
          "\(type) does not accept an object of type \(list($0, or: true)): \(reason)"
        }, error)
    case .list: try record(Problem(path, "refused", "\(type) does not accept the list: \(reason)"), error)
    }
  }

  private func reason(_ error: any Error) -> String {
    switch error {
    case DecodingError.dataCorrupted(let context), DecodingError.typeMismatch(_, let context),
      DecodingError.valueNotFound(_, let context), DecodingError.keyNotFound(_, let context):
      context.debugDescription
    default: "\(error)"
    }
  }

  /// A member is asked for that the response does not have.
  /// - Parameter type: What it is read as; `nil` if it may be missing.
  func recordMissing(_ key: String, of object: ResponseNode.Object, at place: Place, readAs type: String?) throws {
    let keys = object.selections.keys
    let path = "\(place.path).\(key)"
    // What the rules of documents refuse is not reported twice.
    if object.selections.unknownKeys.contains(key) { return }
    if keys.contains(key) {
      guard let type else { return }
      return try recordLeftOut(key, of: object, path, readAs: type)
    }
    if type == nil, isReadFurtherOut(key) { return }
    let parent = object.type.base
    var problem: Problem
    if key == "__typename" {
      problem = Problem(path, "selection", "is read but not selected (add it to the query)")
    } else if parent.field(named: key) != nil {
      problem = Problem(
        path, "selection", "is read but not selected (\(parent.name).\(key) exists: add it to the query)")
      if type == nil { problem.severity = .warning }
    } else {
      let names = keys.sorted() + parent.fields.map(\.name).filter { !keys.contains($0) }
      let near = Suggestions.nearest(to: key, among: names).first.map { "; did you mean \($0)?" } ?? ""
      problem = Problem(path, "selection", "is read but not selected, and \(parent.name) has no such field\(near)")
    }
    problem.isFailure = type != nil
    try record(problem)
  }

  /// A member is selected, but not in this response.
  private func recordLeftOut(
    _ key: String, of object: ResponseNode.Object, _ path: String, readAs type: String
  ) throws {
    let isSelected = object.selections.selects(key, on: object.type)
    if isSelected, !object.selections.selects(key, on: object.type, withDeferred: false) {
      return try record(
        Problem(
          path, "deferred",
          "can arrive later, as its fragment has @defer, but is read as \(type): give the fragment a label and read it "
            + "as Deferred, or read \(type)?"))
    }
    if isSelected {
      return try record(
        Problem(
          path, "condition", "can be left out by @include or @skip, but is read as \(type), not \(type)?"))
    }
    var problem = Problem(path, "missing", of: object.type.isFuture ? "a type from the future" : object.type.name) {
      "is not in every response (here \(list($0))), but is read as \(type)"
    }
    problem.isImpliedByToday = true
    try record(problem)
  }
}

/// What a message says is a list of these: at most five of them.
private func list(_ words: [String], or: Bool = false) -> String {
  let more = words.count > 5 ? ["\(words.count - 4) others"] : []
  let shown = more.isEmpty ? words : words.prefix(4) + more
  guard let last = shown.last, shown.count > 1 else { return words.first ?? "" }
  return shown.dropLast().joined(separator: ", ") + (or && more.isEmpty ? " or " : " and ") + last
}

extension ResponseNode.Leaf.Kind {
  var isUnknown: Bool { if case .unknown = self { true } else { false } }

  var isCustom: Bool {
    switch self {
    case .custom, .unknown: true
    default: false
    }
  }
}

/// A type that reads whatever members there are.
private protocol ReadsAnyKey {}

extension Dictionary: ReadsAnyKey {}

// MARK: - Primitives

/// A type that decoders read without asking it.
protocol RecordedPrimitive: Decodable {
  init?(recorded value: JSONValue)
  static var madeUp: Self { get }
}

extension Bool: RecordedPrimitive {
  init?(recorded value: JSONValue) {
    guard let value = value.boolValue else { return nil }
    self = value
  }
  static var madeUp: Bool { false }
}

extension String: RecordedPrimitive {
  init?(recorded value: JSONValue) {
    guard let value = value.stringValue else { return nil }
    self = value
  }
  static var madeUp: String { "text" }
}

extension RecordedPrimitive where Self: FixedWidthInteger {
  init?(recorded value: JSONValue) {
    guard let number = value.integerValue else { return nil }
    self.init(exactly: number)
  }
  static var madeUp: Self { 1 }
}

extension RecordedPrimitive where Self: BinaryFloatingPoint {
  init?(recorded value: JSONValue) {
    guard let number = value.numberValue else { return nil }
    let rounded = Self(number)
    guard rounded.isFinite else { return nil }
    self = rounded
  }
  static var madeUp: Self { 1 }
}

extension Int: RecordedPrimitive {}
extension Int8: RecordedPrimitive {}
extension Int16: RecordedPrimitive {}
extension Int32: RecordedPrimitive {}
extension Int64: RecordedPrimitive {}
extension UInt: RecordedPrimitive {}
extension UInt8: RecordedPrimitive {}
extension UInt16: RecordedPrimitive {}
extension UInt32: RecordedPrimitive {}
extension UInt64: RecordedPrimitive {}
extension Double: RecordedPrimitive {}
extension Float: RecordedPrimitive {}

/// A type of Foundation that decoders read in ways of their own.
protocol ReadByDecoder: Decodable {
  static var madeUp: Self { get }
}

extension Date: ReadByDecoder { static var madeUp: Date { Date(timeIntervalSince1970: 0) } }
extension Data: ReadByDecoder { static var madeUp: Data { Data() } }
extension Decimal: ReadByDecoder { static var madeUp: Decimal { 0 } }
extension URL: ReadByDecoder { static var madeUp: URL { URL(fileURLWithPath: "/") } }
extension UUID: ReadByDecoder {
  static var madeUp: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
}
