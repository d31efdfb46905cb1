import GraphQLSchema
import JSON

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

  /// Whether a decoder has asked for it.
  var isRead = false
  /// A value that a decoder accepts for a scalar of which nothing is known.
  var accepted: JSONValue?

  private var members: [Member: Place] = [:]
  private var itemPlace: Place?

  private struct Member: Hashable {
    let type: String
    let key: String
  }

  init(path: String, key: String? = nil, parent: Place? = nil, type: TypeReference? = nil, field: Field? = nil) {
    self.path = path
    self.key = key
    self.parent = parent
    self.type = type
    self.field = field
  }

  func member(_ key: String, of type: String, field: Field) -> Place {
    let member = Member(type: type, key: key)
    if let place = members[member] { return place }
    let place = Place(path: "\(path).\(key)", key: key, parent: self, type: field.type, field: field)
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
  /// What is selected of the objects in it.
  var selections: [SelectionPlan] = []

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
    let selections: [SelectionPlan]

    func member(_ key: String) -> ResponseNode? { members.first { $0.place.key == key } }
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
  func choose(_ choice: Choice, at place: Place) -> Int

  /// How many items a list has.
  func length(at place: Place) -> Int

  /// Whether a variable that `@include` or `@skip` depends on is true.
  func flag(_ variable: String, usually: Bool) -> Bool

  /// A value of a scalar, if it is not to be one of the samples.
  func scalar(_ type: NamedType, at place: Place, isKnown: Bool) -> JSONValue?
}

extension Chooser {
  func scalar(_ type: NamedType, at place: Place, isKnown: Bool) -> JSONValue? { nil }
}

/// Makes a response that a correct server may send to an operation.
struct ResponseGenerator {
  let plan: OperationPlan
  let samples: ScalarSamples
  let chooser: any Chooser

  func response(at root: Place) -> ResponseNode {
    ResponseNode(place: root, content: object(.known(plan.root), [plan.selections], at: root))
  }

  func object(_ type: ConcreteType, _ selections: [SelectionPlan], at place: Place) -> ResponseNode.Content {
    let members = collect(selections, on: type).map { field in
      let member = place.member(field.key, of: type.name, field: field.field)
      if field.name == "__typename" {
        return ResponseNode(place: member, content: .leaf(.init(value: .string(type.name), kind: .scalar)))
      }
      return value(field.field.type, field.selections, at: member)
    }
    return .object(.init(type: type, members: members, selections: selections))
  }

  private func value(_ type: TypeReference, _ selections: [SelectionPlan], at place: Place) -> ResponseNode {
    if !type.isNonNull, chooser.choose(.null, at: place) == 1 {
      return ResponseNode(place: place, content: .null, selections: selections)
    }
    return nonNullValue(type, selections, at: place)
  }

  func nonNullValue(_ type: TypeReference, _ selections: [SelectionPlan], at place: Place) -> ResponseNode {
    var node = ResponseNode(place: place, content: .null, selections: selections)
    if let item = type.item {
      let itemPlace = place.item(item)
      node.content = .list((0..<chooser.length(at: place)).map { _ in value(item, selections, at: itemPlace) })
    } else {
      node.content = content(type.named, selections, at: place)
    }
    return node
  }

  private func content(_ type: NamedType, _ selections: [SelectionPlan], at place: Place) -> ResponseNode.Content {
    switch type.kind {
    case .object: return object(.known(type), selections, at: place)
    case .interface, .union:
      let types = type.possibleTypes
      let number = chooser.choose(.type(types.map(\.name) + [ConcreteType.futureName]), at: place)
      return object(number < types.count ? .known(types[number]) : .future(of: type), selections, at: place)
    case .enum:
      let values = type.values.map(\.name)
      let number = chooser.choose(.value((values + [ScalarSamples.futureValue]).map(JSONValue.string)), at: place)
      let isFuture = number == values.count
      let value = isFuture ? ScalarSamples.futureValue : values[number]
      return .leaf(.init(value: .string(value), kind: .enumValue(isFuture: isFuture)))
    default:
      let (values, kind) = samples.values(of: type, field: place.fieldOfItems)
      if let value = chooser.scalar(type, at: place, isKnown: kind.isCustom) {
        return .leaf(.init(value: value, kind: kind))
      }
      return .leaf(.init(value: values[chooser.choose(.value(values), at: place)], kind: kind))
    }
  }

  private struct CollectedField {
    let key: String
    let name: String
    let field: Field
    var selections: [SelectionPlan]
  }

  /// The fields of an object (specification, section 6.3.2).
  private func collect(_ selections: [SelectionPlan], on type: ConcreteType) -> [CollectedField] {
    var fields: [CollectedField] = []
    var visited: Set<ObjectIdentifier> = []
    func visit(_ selections: SelectionPlan) {
      for item in selections.items {
        switch item {
        case .field(let plan):
          guard isIncluded(plan.conditions) else { continue }
          if let index = fields.firstIndex(where: { $0.key == plan.key }) {
            plan.selections.map { fields[index].selections.append($0) }
            continue
          }
          var field = plan.field
          if case .known(let type) = type, let own = type.selectableField(named: plan.name) { field = own }
          fields.append(
            .init(key: plan.key, name: plan.name, field: field, selections: plan.selections.map { [$0] } ?? []))
        case .fragment(let fragment):
          guard isIncluded(fragment.conditions), fragment.type.map(type.isOf) ?? true,
            visited.insert(ObjectIdentifier(fragment.selections)).inserted
          else { continue }
          visit(fragment.selections)
        }
      }
    }
    selections.forEach(visit)
    return fields
  }

  private func isIncluded(_ conditions: [SelectionPlan.Condition]) -> Bool {
    conditions.allSatisfy { chooser.flag($0.variable, usually: $0.value) == $0.value }
  }
}

extension Place {
  /// The field that a place belongs to, also if it is an item of the field's list.
  var fieldOfItems: Field? { field ?? parent.flatMap { key == nil ? $0.fieldOfItems : nil } }
}

extension ResponseNode {
  /// The response as JSON.
  /// - Parameter poisoned: A place whose value is replaced by one of another kind.
  func json(poisoned: Place? = nil) -> String {
    var text = ""
    write(to: &text, poisoned)
    return text
  }

  private func write(to text: inout String, _ poisoned: Place?) {
    if place === poisoned {
      if case .object = content { text += "0" } else { text += #"{"":0}"# }
      return
    }
    switch content {
    case .null: text += "null"
    case .leaf(let leaf):
      let value = place.accepted ?? leaf.value
      if case .string(let string) = value, string.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C }) {
        text += "\"\(string)\""
      } else {
        text += value.text
      }
    case .list(let items):
      text += "["
      for (index, item) in items.enumerated() {
        if index > 0 { text += ", " }
        item.write(to: &text, poisoned)
      }
      text += "]"
    case .object(let object):
      text += "{"
      for (index, member) in object.members.enumerated() {
        text += index > 0 ? ", \"" : "\""
        text += member.place.key ?? ""
        text += "\": "
        member.write(to: &text, poisoned)
      }
      text += "}"
    }
  }
}

extension JSONValue {
  /// The value as JSON.
  var text: String { (try? json()).map { String(decoding: $0, as: UTF8.self) } ?? "null" }
}
