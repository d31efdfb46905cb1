import GraphQLSchema
import StrictJSON

/// Puts given values in the place of those that were made up; the rest is made up around them.
struct ResponseEditor {
  let generator: ResponseGenerator

  private enum Step {
    case member(String)
    /// An item, or all of them.
    case item(Int?)
  }

  /// Sets the value at a path below the data.
  func set(_ path: String, to value: JSONValue, in response: inout ResponseNode) throws(FixtureError) {
    try set(value, at: Self.steps(of: path)[...], in: &response)
  }

  private static func steps(of path: String) throws(FixtureError) -> [Step] {
    var steps: [Step] = []
    for part in path.split(separator: ".", omittingEmptySubsequences: false) {
      let brackets = part.split(separator: "[", omittingEmptySubsequences: false)
      guard let name = brackets.first, !name.isEmpty else { throw wrong(path) }
      steps.append(.member(String(name)))
      for index in brackets.dropFirst() {
        let number = Int(index.dropLast())
        guard index.last == "]", index.count == 1 || (number ?? -1) >= 0, (number ?? 0) < 10_000 else {
          throw wrong(path)
        }
        steps.append(.item(number))
      }
    }
    return steps
  }

  private static func wrong(_ path: String) -> FixtureError {
    FixtureError("\"\(path)\" is no path such as user.name, user.friends[0].name or user.friends[].name.")
  }

  private func set(_ value: JSONValue, at steps: ArraySlice<Step>, in node: inout ResponseNode) throws(FixtureError) {
    guard let step = steps.first else { return try replace(&node, by: value) }
    fill(&node)
    switch (step, node.content) {
    case (.member(let key), .object(var object)):
      guard let index = object.members.firstIndex(where: { $0.place.key == key }) else {
        let near = Suggestions.nearest(to: key, among: object.members.compactMap(\.place.key)).first
        let question = near.map { "; did you mean \($0)?" } ?? ""
        throw FixtureError(
          "\(node.place.path).\(key): the document selects no such field of \(object.type.name)\(question)")
      }
      if steps.count == 1, object.members[index].place.field?.name == "__typename" {
        return try setType(value, of: &node)
      }
      try set(value, at: steps.dropFirst(), in: &object.members[index])
      node.content = .object(object)
    case (.item(let index), .list(var items)):
      if let index { try grow(&items, to: index + 1, of: node) }
      for position in items.indices where index == nil || index == position {
        try set(value, at: steps.dropFirst(), in: &items[position])
      }
      node.content = .list(items)
    case (.member(let key), _): throw refusal(node, "so it has no \(key)")
    case (.item, _): throw refusal(node, "so it has no items")
    }
  }

  /// Makes up a value for what is null.
  private func fill(_ node: inout ResponseNode) {
    guard case .null = node.content, let type = node.place.type else { return }
    node = generator.nonNullValue(type, node.sets, at: node.place)
  }

  private func grow(_ items: inout [ResponseNode], to count: Int, of list: ResponseNode) throws(FixtureError) {
    guard let type = list.place.type?.item else { return }
    while items.count < count {
      items.append(generator.nonNullValue(type, list.sets, at: list.place.item(type)))
    }
  }

  private func replace(_ node: inout ResponseNode, by value: JSONValue) throws(FixtureError) {
    if value == .null {
      guard node.place.type?.isNonNull == false else { throw refusal(node, "so it cannot be null") }
      node.content = .null
      return
    }
    fill(&node)
    switch (node.content, value) {
    case (.object, .object(let members)): try merge(members, into: &node)
    case (.list(var items), .array(let values)):
      try grow(&items, to: values.count, of: node)
      items.removeLast(items.count - values.count)
      for (index, value) in values.enumerated() { try replace(&items[index], by: value) }
      node.content = .list(items)
    case (.leaf(let leaf), _):
      guard accepts(node, value) else { throw refusal(node, "so it cannot be \(value.text)") }
      node.content = .leaf(.init(value: value, kind: leaf.kind.isUnknown ? .custom : leaf.kind))
    case (.object, _), (.list, _), (.null, _): throw refusal(node, "so it cannot be a value of another kind")
    }
  }

  private func merge(_ members: [String: JSONValue], into node: inout ResponseNode) throws(FixtureError) {
    // The type comes first, also if the document does not select it: the other members are of it.
    if let type = members["__typename"] { try setType(type, of: &node) }
    for (key, value) in members.sorted(by: { $0.key < $1.key }) where key != "__typename" {
      try set(value, at: [.member(key)], in: &node)
    }
  }

  /// Makes an object one of another type, with the fields that are selected of that.
  private func setType(_ value: JSONValue, of node: inout ResponseNode) throws(FixtureError) {
    guard case .object(let object) = node.content else { throw refusal(node, "so it has no __typename") }
    if value == .string(object.type.name) { return }
    let possible = node.place.type?.named.possibleTypes ?? [object.type.base]
    guard let name = value.stringValue, let type = possible.first(where: { $0.name == name }) else {
      let near = value.stringValue.flatMap { Suggestions.nearest(to: $0, among: possible.map(\.name)).first }
      throw refusal(node, "so its type cannot be \(value.text)" + (near.map { "; did you mean \($0)?" } ?? ""))
    }
    node.content = generator.object(.known(type), node.sets, at: node.place)
  }

  private func accepts(_ node: ResponseNode, _ value: JSONValue) -> Bool {
    guard let type = node.place.type?.named else { return true }
    if type.kind == .enum { return value.stringValue.flatMap(type.value) != nil }
    return switch type.name {
    case "String", "ID": value.stringValue != nil
    case "Boolean": value.boolValue != nil
    case "Int": value.integerValue.map { Int32(exactly: $0) != nil } ?? false
    case "Float": value.numberValue != nil
    default: true
    }
  }

  private func refusal(_ node: ResponseNode, _ reason: String) -> FixtureError {
    FixtureError("\(node.place.path): it is \(node.place.type?.description ?? "an object"), \(reason).")
  }
}
