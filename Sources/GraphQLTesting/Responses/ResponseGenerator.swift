import GraphQLLanguage
import GraphQLSchema
import StrictJSON

/// A place in the responses to an operation: a path without indices, of one type of object.
///
/// There is one for each path and type, however many responses are made, so that what is known of a place is kept in it.
final class Place {
  /// The path, such as `data.user.friends[].name`.
  let path: String
  /// The name in the response, if the place is a field.
  let key: String?
  /// Its members and items keep none: the root keeps all.
  unowned let parent: Place?
  /// Its type; none for the data as a whole.
  let type: TypeReference?
  /// The field that fills it; none for the items of a list.
  let field: Field?

  /// The field that the document selects, of the type that it is selected on; the objects in a response may have narrower
  /// ones.
  let selected: Field?

  /// Whether a decoder has asked for it.
  var isRead = false
  /// Whether some response had it.
  var isKnown = false
  /// A value that a decoder accepts for a scalar of which nothing is known.
  var accepted: JSONValue?

  private var members: [Member: Place] = [:]
  private var itemPlace: Place?

  private struct Member: Hashable {
    let type: String
    let key: String
  }

  init(
    path: String, key: String? = nil, parent: Place? = nil, type: TypeReference? = nil, field: Field? = nil,
    selected: Field? = nil
  ) {
    self.selected = selected
    self.path = path
    self.key = key
    self.parent = parent
    self.type = type
    self.field = field
  }

  func member(_ key: String, of type: String, field: Field, selected: Field) -> Place {
    let member = Member(type: type, key: key)
    if let place = members[member] { return place }
    let place = Place(
      path: "\(path).\(key)", key: key, parent: self, type: field.type, field: field, selected: selected)
    members[member] = place
    return place
  }

  func item(_ type: TypeReference) -> Place {
    if let itemPlace { return itemPlace }
    let place = Place(path: path + "[]", parent: self, type: type)
    itemPlace = place
    return place
  }
}

/// A response, or a part of one.
struct ResponseNode {
  let place: Place
  var content: Content
  /// The sets that are selected of the objects in it.
  var sets: [Int] = []

  indirect enum Content {
    case null
    case leaf(Leaf)
    case list([ResponseNode])
    case object(Object)
  }

  struct Leaf {
    let value: JSONValue
    var kind: Kind

    enum Kind {
      case scalar
      /// A scalar of the schema's own, of which samples are known.
      case custom
      /// A scalar of the schema's own, of which nothing is known.
      case unknown
      case enumValue(isFuture: Bool)
    }
  }

  struct Object {
    let type: ConcreteType
    var members: [ResponseNode]
    let selections: SelectionPlan
    /// The sets of the fragments that have not arrived.
    var pending: Set<Int> = []
    private let places: [String: Int]

    init(type: ConcreteType, members: [ResponseNode], selections: SelectionPlan) {
      self.type = type
      self.members = members
      self.selections = selections
      // A few are found faster without an index.
      places =
        members.count > 8
        ? Dictionary(members.enumerated().map { ($1.place.key ?? "", $0) }) { first, _ in first } : [:]
    }

    func member(_ key: String) -> ResponseNode? {
      if places.isEmpty { return members.first { $0.place.key == key } }
      return places[key].map { members[$0] }
    }
  }
}

/// The type of an object in a response.
enum ConcreteType {
  case known(NamedType)
  /// A type that a server may add: it implements an interface, or is a member of a union.
  case future(of: NamedType)

  static let futureName = "TypeFromTheFuture"

  var name: String {
    switch self {
    case .known(let type): type.name
    case .future: Self.futureName
    }
  }

  /// The type itself, or the interface or union that it was added to.
  var base: NamedType {
    switch self {
    case .known(let type), .future(of: let type): type
    }
  }

  var isFuture: Bool { if case .future = self { true } else { false } }

  /// Whether a fragment on a type applies.
  func isOf(_ condition: NamedType) -> Bool {
    switch self {
    case .known(let type): type.isSubtype(of: condition)
    case .future(let parent): parent.isSubtype(of: condition)
    }
  }
}

/// What a server is free to choose.
enum Choice {
  /// A value, or null.
  case null
  /// The concrete type of an object, by the names of the types.
  case type([String])
  /// A value of a scalar or an enum.
  case value([JSONValue])

  var count: Int {
    switch self {
    case .null: 2
    case .type(let names): names.count
    case .value(let values): values.count
    }
  }
}

/// Decides what a server is free to choose.
protocol Chooser: AnyObject {
  /// The number of an option; the first is the usual one.
  /// - Parameter isLater: Whether it is about an item of a list that is not the first.
  func choose(_ choice: Choice, at place: Place, isLater: Bool) -> Int

  /// How many items a list has.
  func length(at place: Place) -> Int

  /// Whether a variable that `@include` or `@skip` depends on is true.
  func flag(_ variable: String, usually: Bool) -> Bool

  /// Whether a fragment with `@defer` has arrived.
  func hasArrived(_ fragment: String) -> Bool

  /// A value of a scalar, if it is not to be one of the samples.
  func scalar(_ type: NamedType, at place: Place, isKnown: Bool) -> JSONValue?
}

extension Chooser {
  func hasArrived(_ fragment: String) -> Bool { true }

  func scalar(_ type: NamedType, at place: Place, isKnown: Bool) -> JSONValue? { nil }
}

/// Makes a response that a correct server may send to an operation.
struct ResponseGenerator {
  let plan: OperationPlan
  let samples: ScalarSamples
  let chooser: any Chooser
  private let progress = Progress()

  /// How many values a response has at most: fragments that spread others twice could multiply them without end.
  static let mostValues = 100_000

  /// Where the generation stands.
  private final class Progress {
    var values = 0
    /// The indices of the items that the value is in, the outermost first.
    var indices: [Int] = []
  }

  init(plan: OperationPlan, samples: ScalarSamples, chooser: some Chooser) {
    self.plan = plan
    self.samples = samples
    self.chooser = chooser
  }

  /// How many values the last response has.
  var values: Int { progress.values }

  /// Whether the last response was cut, as it has too many values.
  var isCut: Bool { progress.values > Self.mostValues }

  func response(at root: Place) -> ResponseNode {
    progress.values = 0
    progress.indices = []
    return ResponseNode(place: root, content: object(.known(plan.root), plan.selections.sets, at: root))
  }

  func object(_ type: ConcreteType, _ sets: [Int], at place: Place) -> ResponseNode.Content {
    var pending: Set<Int> = []
    let members = collect(sets, on: type, &pending).compactMap { group -> ResponseNode? in
      let name = group.fields[0].name
      guard let selected = plan.field(group.fields[0]) else { return nil }
      var field = selected
      if case .known(let type) = type, let own = type.selectableField(named: name) { field = own }
      let member = place.member(group.key, of: type.name, field: field, selected: selected)
      if name == "__typename" {
        return ResponseNode(place: member, content: .leaf(.init(value: .string(type.name), kind: .scalar)))
      }
      return value(field.type, group.sets, at: member)
    }
    var object = ResponseNode.Object(
      type: type, members: members, selections: SelectionPlan(operation: plan, sets: sets))
    object.pending = pending
    return .object(object)
  }

  private func value(
    _ type: TypeReference, _ sets: [Int], at place: Place, isLater: Bool = false
  ) -> ResponseNode {
    progress.values += 1
    if !type.isNonNull, isCut || chooser.choose(.null, at: place, isLater: isLater) == 1 {
      return ResponseNode(place: place, content: .null, sets: sets)
    }
    return nonNullValue(type, sets, at: place, isLater: isLater)
  }

  func nonNullValue(
    _ type: TypeReference, _ sets: [Int], at place: Place, isLater: Bool = false
  ) -> ResponseNode {
    var node = ResponseNode(place: place, content: .null, sets: sets)
    if let item = type.item {
      let itemPlace = place.item(item)
      node.content = .list(
        (0..<chooser.length(at: place)).map { index in
          progress.indices.append(index)
          defer { progress.indices.removeLast() }
          return value(item, sets, at: itemPlace, isLater: index > 0)
        })
    } else {
      node.content = content(type.named, sets, at: place, isLater)
    }
    return node
  }

  private func content(
    _ type: NamedType, _ sets: [Int], at place: Place, _ isLater: Bool
  ) -> ResponseNode.Content {
    switch type.kind {
    case .object: return object(.known(type), isCut ? [] : sets, at: place)
    case .interface, .union:
      let types = type.possibleTypes
      let names = types.map(\.name) + [ConcreteType.futureName]
      let number = chooser.choose(.type(names), at: place, isLater: isLater)
      return object(
        number < types.count ? .known(types[number]) : .future(of: type), isCut ? [] : sets, at: place)
    case .enum:
      let values = type.values.map(\.name)
      let number = chooser.choose(
        .value((values + [ScalarSamples.futureValue]).map(JSONValue.string)), at: place, isLater: isLater)
      let isFuture = number == values.count
      let value = isFuture ? ScalarSamples.futureValue : values[number]
      return .leaf(.init(value: .string(value), kind: .enumValue(isFuture: isFuture)))
    default:
      let (values, kind) = samples.values(of: type, field: place.fieldOfItems)
      if let value = chooser.scalar(type, at: place, isKnown: kind.isCustom) {
        return .leaf(.init(value: value, kind: kind))
      }
      let number = chooser.choose(.value(values), at: place, isLater: isLater)
      return .leaf(.init(value: item(of: values, number, type, kind), kind: kind))
    }
  }

  /// The value of a scalar. In the items of a list, ids and texts differ, and samples take turns.
  private func item(
    of values: [JSONValue], _ number: Int, _ type: NamedType, _ kind: ResponseNode.Leaf.Kind
  ) -> JSONValue {
    let index = progress.indices.reduce(0) { 3 * $0 + $1 }
    guard index > 0 else { return values[number] }
    if case .custom = kind { return values[(number + index) % values.count] }
    switch (type.name, values[number]) {
    case ("ID", .string("1")): return .string("\(index + 1)")
    case ("ID", .string(let text)), ("String", .string(let text)): return .string(text + "\(index + 1)")
    case ("Int", .integer(1)): return .integer(Int64(index + 1))
    default: return values[number]
    }
  }

  /// The fields of an object, and the deferred fragments that it still lacks.
  private func collect(_ sets: [Int], on type: ConcreteType, _ pending: inout Set<Int>) -> [Selections.Group] {
    var arrived: Set<Int> = []
    let groups = plan.resolved.collect(sets) { selection in
      switch selection {
      case .field(let field): return plan.field(field) != nil && isIncluded(field.conditions)
      case .fragment(let fragment):
        guard plan.applies(fragment, to: type) else { return false }
        guard isIncluded(fragment.conditions), hasArrived(fragment) else {
          pending.insert(fragment.set)
          return false
        }
        arrived.insert(fragment.set)
        return true
      }
    }
    pending.subtract(arrived)
    return groups
  }

  private func isIncluded(_ conditions: [Selections.Condition]) -> Bool {
    conditions.allSatisfy { condition in
      guard case .variable(let name) = condition.value.kind else { return !condition.isNever }
      return chooser.flag(name.text, usually: condition.wanted) == condition.wanted
    }
  }

  private func hasArrived(_ fragment: Selections.Fragment) -> Bool {
    !fragment.isDeferred || chooser.hasArrived("\(fragment.syntax.location)")
  }
}

extension Place {
  /// The field that a place belongs to, also if it is an item of the field's list.
  var fieldOfItems: Field? { field ?? parent.flatMap { key == nil ? $0.fieldOfItems : nil } }
}

extension ResponseNode {
  /// The response as JSON.
  func json() -> String { ResponseText(self).text }

  /// The value without its places.
  var value: JSONValue {
    switch content {
    case .null: .null
    case .leaf(let leaf): place.accepted ?? leaf.value
    case .list(let items): .array(items.map(\.value))
    case .object(let object): .object(Dictionary(object.members.map { ($0.place.key ?? "", $0.value) }) { $1 })
    }
  }

  /// Notes that everything in it is read.
  func markRead() {
    place.isRead = true
    switch content {
    case .null, .leaf: break
    case .list(let items): items.forEach { $0.markRead() }
    case .object(let object): object.members.forEach { $0.markRead() }
    }
  }
}

/// A response as JSON, with the bytes of each place, so that what differs in one place needs no other response.
struct ResponseText {
  private(set) var bytes: [UInt8] = []
  /// How many values it has.
  private(set) var values = 0
  private var ranges: [ObjectIdentifier: [Range<Int>]] = [:]

  init(_ response: ResponseNode, in prefix: String = "", _ suffix: String = "") {
    bytes += prefix.utf8
    write(response)
    bytes += suffix.utf8
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The text with other values in all values of some places; `nil` if it has none of one, or if one is in another.
  ///
  /// Of the result, nothing can be replaced.
  func replacing(_ replacements: [(place: Place, value: String)]) -> ResponseText? {
    var parts: [(range: Range<Int>, value: String)] = []
    for (place, value) in replacements {
      guard let ranges = ranges[ObjectIdentifier(place)] else { return nil }
      parts += ranges.map { ($0, value) }
    }
    parts.sort { $0.range.lowerBound < $1.range.lowerBound }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var end = 0
    for (range, value) in parts {
      guard range.lowerBound >= end else { return nil }
      result += bytes[end..<range.lowerBound]
      result += value.utf8
      end = range.upperBound
    }
    result += bytes[end...]
    return ResponseText(bytes: result, values: values)
  }

  private init(bytes: [UInt8], values: Int) {
    (self.bytes, self.values) = (bytes, values)
  }

  private mutating func write(_ node: ResponseNode) {
    values += 1
    let start = bytes.count
    switch node.content {
    case .null: bytes += "null".utf8
    case .leaf(let leaf): bytes += (node.place.accepted ?? leaf.value).text.utf8
    case .list(let items):
      bytes.append(UInt8(ascii: "["))
      for (index, item) in items.enumerated() {
        if index > 0 { bytes += ", ".utf8 }
        write(item)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let object):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in object.members.enumerated() {
        bytes += (index > 0 ? ", \"" : "\"").utf8
        bytes += (member.place.key ?? "").utf8
        bytes += "\": ".utf8
        write(member)
      }
      bytes.append(UInt8(ascii: "}"))
    }
    ranges[ObjectIdentifier(node.place), default: []].append(start..<bytes.count)
  }
}

extension JSONValue {
  /// The value as JSON.
  var text: String {
    if case .string(let string) = self, string.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C }) {
      return "\"\(string)\""
    }
    return (try? json()).map { String(decoding: $0, as: UTF8.self) } ?? "null"
  }
}
