import GraphQLSchema
import JSON
import Networking
import Platform

/// What a decoder asked of a response, and where that does not fit.
///
/// Where a request does not fit, a value of the wanted type is made up, so that decoding continues and one response shows
/// all that is wrong.
final class Recording {
  struct Complaint {
    let path: String
    let message: String
    var severity = SessionCheck.Finding.Severity.error
    /// Whether decoding fails because of it; else a member that is not there is taken for null.
    var isFailure = true
    /// Whether the document lacks what is read: then the type of the object makes no difference.
    var isAboutSelection = false

    /// What two complaints have in common that say the same.
    var key: [String] { [path, isAboutSelection ? "" : message] }
  }

  /// What ends a recording where no value can be made up; the reason is recorded.
  struct Stop: Error {}

  private(set) var complaints: [Complaint] = []
  /// The paths of scalars of which nothing is known but that a decoder accepts some value.
  private(set) var guessed: Set<String> = []
  /// Reads parts of responses where the way of reading depends on the decoder: dates, for example.
  private let decoder: any BodyDecoder

  init(decoder: any BodyDecoder) {
    self.decoder = decoder
  }

  /// Reads a response; `nil` if no value could be made up for something that did not fit.
  func read<Value: Decodable>(_ type: Value.Type, from response: ResponseNode) -> Value? {
    try? read(type, .node(response), at: [])
  }

  func record(_ path: String, _ message: String) {
    complaints.append(Complaint(path: path, message: message))
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
    guard path.count < 200 else { throw Stop() }
    guard case .node(let node) = source else { return try madeUp(type, at: path) }
    node.place.isRead = true
    if let primitive = type as? any RecordedPrimitive.Type,
      let value = try primitiveValue(primitive, of: node) as? Value
    {
      return value
    }
    if case .leaf(let leaf) = node.content, leaf.kind.isCustom || type is any ReadByDecoder.Type {
      return try leafValue(type, leaf, at: node.place, path)
    }
    do {
      return try Value(from: RecordingDecoder(recording: self, source: source, type: "\(type)", codingPath: path))
    } catch is Stop {
      throw Stop()
    } catch {
      recordRefusal(by: type, of: node, error)
      return try substitute(type, for: node, at: path)
    }
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
    recordMismatch(node, "\(type)")
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
    recordMismatch(ResponseNode(place: place, content: .leaf(leaf)), "\(type)")
    return try madeUp(type, at: path)
  }

  /// A value of a type that was not given one that it accepts.
  func madeUp<Value: Decodable>(_ type: Value.Type, at path: [any CodingKey]) throws -> Value {
    if let primitive = type as? any RecordedPrimitive.Type, let value = primitive.madeUp as? Value { return value }
    if let known = type as? any ReadByDecoder.Type, let value = known.madeUp as? Value { return value }
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

// MARK: - Complaints

extension Recording {
  /// Something is asked for as a type that it is not.
  func recordMismatch(_ node: ResponseNode, _ type: String) {
    let path = node.place.path
    let schemaType = node.place.type?.nullable.description ?? "an object"
    switch node.content {
    case .null: record(path, "the schema says it can be null, but it is read as \(type), not \(type)?")
    case .leaf(let leaf):
      switch leaf.value {
      case .integer(let number) where schemaType == "Int" && type.contains("Int") && number != 1:
        record(path, "is Int in the schema, and can be \(number), which \(type) cannot hold")
      default:
        record(path, "is \(schemaType) in the schema, but is read as \(type)")
      }
    case .list, .object: record(path, "is \(schemaType) in the schema, but is read as \(type)")
    }
  }

  /// A type refuses what it was given.
  private func recordRefusal<Value>(by type: Value.Type, of node: ResponseNode, _ error: any Error) {
    let path = node.place.path
    let schemaType = node.place.type?.named.name ?? "the data"
    switch node.content {
    case .leaf(let leaf):
      switch (leaf.kind, leaf.value) {
      case (.enumValue(isFuture: true), _):
        record(path, "\(type) fails for a value that the server adds to \(schemaType) later (use GraphQLEnum)")
      case (.enumValue, .string(let name)):
        record(path, "\(schemaType).\(name) is in the schema, but \(type) does not accept it")
      default: record(path, "\(type) does not accept \(node.json()), which is \(schemaType) in the schema")
      }
    case .object(let object) where object.type.isFuture:
      record(path, "\(type) fails for a type that the server adds to \(schemaType) later")
    case .null: recordMismatch(node, "\(type)")
    case .object(let object):
      record(path, "\(type) does not accept an object of type \(object.type.name): \(reason(error))")
    case .list: record(path, "\(type) does not accept the list: \(reason(error))")
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
  func recordMissing(_ key: String, of object: ResponseNode.Object, at place: Place, readAs type: String?) {
    let keys = object.selections.reduce(into: Set<String>()) { $0.formUnion($1.keys) }
    let path = "\(place.path).\(key)"
    // What the rules of documents refuse is not reported twice.
    if object.selections.contains(where: { $0.unknownKeys.contains(key) }) { return }
    if keys.contains(key) {
      guard let type else { return }
      let place = object.type.isFuture ? "a type from the future" : object.type.name
      let isConditional = object.selections.contains { $0.selects(key, on: object.type) }
      return record(
        path,
        isConditional
          ? "can be left out by @include or @skip, but is read as \(type), not \(type)?"
          : "is not in every response (here \(place)), but is read as \(type)")
    }
    let parent = object.type.base
    var complaint: Complaint
    if key == "__typename" {
      complaint = Complaint(path: path, message: "is read but not selected (add it to the query)")
    } else if parent.field(named: key) != nil {
      complaint = Complaint(
        path: path, message: "is read but not selected (\(parent.name).\(key) exists: add it to the query)")
      if type == nil { complaint.severity = .warning }
    } else {
      let names = keys.sorted() + parent.fields.map(\.name).filter { !keys.contains($0) }
      let near = Suggestions.nearest(to: key, among: names).first.map { "; did you mean \($0)?" } ?? ""
      complaint = Complaint(
        path: path, message: "is read but not selected, and \(parent.name) has no such field\(near)")
    }
    complaint.isAboutSelection = true
    complaint.isFailure = type != nil
    complaints.append(complaint)
  }
}

extension SelectionPlan {
  /// Whether a name is selected on a type, under whatever condition.
  fileprivate func selects(_ key: String, on type: ConcreteType) -> Bool {
    items.contains { item in
      switch item {
      case .field(let field): field.key == key
      case .fragment(let fragment): (fragment.type.map(type.isOf) ?? true) && fragment.selections.selects(key, on: type)
      }
    }
  }
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
    self.init(number)
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
