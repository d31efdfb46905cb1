import GraphQLLanguage
import HTTPClientCore
import StrictJSON
import SystemBase

/// Adds to data that were made here, in a user's types, what only a server's response has: `__typename`, keys, and what
/// the types leave out; and takes away what was not changed.
struct ResponseCompletion {
  private let plan: RecordPlan
  private let variables: RecordVariables

  init(_ plan: PreparedPlan) { (self.plan, variables) = (plan.plan, plan.variables) }

  /// The data of a response, complete as far as the schema knows, as JSON.
  /// - Parameters:
  ///   - before: What the user's type had before an edit.
  ///   - read: What the records had then.
  func bytes(_ data: JSONValue, before: JSONValue? = nil, in read: JSONValue? = nil) throws -> PaddedBytes {
    do {
      let data = try completed(data, before: before, in: read, [0], type: plan.rootType, name: "data")
      return PaddedBytes(try data.json().bytes)
    } catch RecordError.unknownType(let field) {
      throw RequestError(
        .invalidRequest,
        "The type of '\(field)' is not known: give it '__typename', or give the store a schema that has the field.")
    } catch RecordError.unknownKey(let field) {
      throw RequestError(.invalidRequest, "The key of '\(field)' is not known: the type of a new object must have it.")
    }
  }

  /// - Parameter type: The type that the schema says a field has; `nil` if it does not know.
  private func completed(
    _ data: JSONValue, before: JSONValue?, in read: JSONValue?, _ sets: [Int], type: String?, name: String
  ) throws(RecordError) -> JSONValue {
    switch data {
    case .object(let members):
      return try completed(members, before: before?.members, in: read?.members, sets, type: type, name: name)
    case .array(let elements):
      return try completed(elements, before: before?.elements, in: read?.elements, sets, type: type, name: name)
    default: return data
    }
  }

  private func completed(
    _ data: [String: JSONValue], before: [String: JSONValue]?, in read: [String: JSONValue]?, _ sets: [Int],
    type: String?, name: String
  ) throws(RecordError) -> JSONValue {
    var members = data
    let groups = groups(sets)
    let typename = groups.first { $0.fields[0].name == "__typename" }?.key
    let ownType = typename.flatMap { (data[$0] ?? read?[$0])?.stringValue } ?? type.flatMap(objectType)
    if let typename {
      guard let ownType else { throw .unknownType(field: name) }
      members[typename] = .string(ownType)
    }
    let key = keys(of: ownType, groups)
    let isEntity = sets == [0] || key.map { $0.allSatisfy { (data[$0] ?? read?[$0]) != nil } } ?? false
    let isOther =
      key?.contains { name in
        guard let value = data[name], let old = before?[name] else { return false }
        return !value.isExactly(old)
      } ?? false
    let (before, read) = isOther ? (nil, nil) : (before, read)
    for group in groups where group.key != typename {
      let isKey = key?.contains(group.key) ?? false
      guard let value = data[group.key] else {
        // An optional that is `nil` is not written: it is null if it was something before.
        if before?[group.key] != nil {
          members[group.key] = .null
        } else if isKey || !isEntity {
          members[group.key] = read?[group.key]
        }
        continue
      }
      // What was not changed is not written: the response to a request in flight may have it newer.
      if isEntity, !isKey, let old = before?[group.key], value.isExactly(old) {
        members[group.key] = nil
        continue
      }
      if group.sets.isEmpty { continue }
      let declared = ownType.flatMap { plan.schema.fieldTypes[$0]?[group.fields[0].name] }
      members[group.key] = try completed(
        value, before: before?[group.key], in: read?[group.key], group.sets, type: declared, name: group.key)
    }
    if let key, sets != [0], key.contains(where: { members[$0] == nil }) { throw .unknownKey(field: name) }
    return .object(members)
  }

  private func completed(
    _ data: [JSONValue], before: [JSONValue]?, in read: [JSONValue]?, _ sets: [Int], type: String?, name: String
  ) throws(RecordError) -> JSONValue {
    let groups = groups(sets)
    let typename = groups.first { $0.fields[0].name == "__typename" }?.key
    let types = Set((read ?? []).compactMap { element in typename.flatMap { element.members?[$0]?.stringValue } })
    let usual = types.count == 1 ? types.first : type
    let known = types.union(usual.map { [$0] } ?? [])
    var places: [Identity: Int] = [:]
    for (place, element) in (before ?? []).enumerated().reversed() {
      places[identity(of: element, groups, known)] = place
    }
    let identities = data.map { identity(of: $0, groups, known) }
    let kept = Set(identities)
    var elements: [JSONValue] = []
    for (index, element) in data.enumerated() {
      // Without a key, an element that was changed is the one that was at its place, unless that is still there.
      let old = before.flatMap { index < $0.count ? $0[index] : nil }
      let isInPlace =
        identities[index].isWhole && old.map { !kept.contains(identity(of: $0, groups, known)) } ?? false
      let place = places[identities[index]] ?? (isInPlace ? index : nil)
      elements.append(
        try completed(
          element, before: place.flatMap { before?[$0] }, in: place.flatMap { read?[$0] }, sets, type: usual,
          name: name))
    }
    return .array(elements)
  }

  /// What tells an element of a list from the others: its key, or itself if it has none.
  private struct Identity: Hashable {
    let text: ExactText
    /// Whether the element is nothing else.
    let isWhole: Bool
  }

  private func identity(of element: JSONValue, _ groups: [Selections.Group], _ types: Set<String>) -> Identity {
    let key = key(of: element, groups, types)
    let isWhole = key.map { $0.count == element.members?.count } ?? true
    return Identity(text: ExactText(RecordVariables.text(of: key.map { .object($0) } ?? element)), isWhole: isWhole)
  }

  /// The members of an element that are its key; `nil` if it has none.
  private func key(
    of element: JSONValue, _ groups: [Selections.Group], _ types: Set<String>
  ) -> [String: JSONValue]? {
    guard let members = element.members else { return nil }
    let keys = types.isEmpty ? [self.keys(of: nil, groups)] : types.sorted().map { self.keys(of: $0, groups) }
    var key: [String: JSONValue] = [:]
    for names in keys {
      for name in names ?? [] {
        guard let value = members[name] else { return nil }
        key[name] = value
      }
    }
    return key.isEmpty ? nil : key
  }

  /// The names in the response of a type's key; `nil` if they are not all selected, or if it has none.
  private func keys(of type: String?, _ groups: [Selections.Group]) -> [String]? {
    let fields = type.map(plan.schema.key) ?? plan.schema.defaultKey
    let names = fields.compactMap { field in groups.first { $0.fields[0].name == field }?.key }
    return names.count == fields.count && !names.isEmpty ? names : nil
  }

  private func groups(_ sets: [Int]) -> [Selections.Group] {
    plan.selections.collect(sets) { variables.allow($0.conditions) }
  }

  /// The type, if objects can be of it.
  private func objectType(_ type: String) -> String? { plan.schema.possibleTypes[type] == nil ? type : nil }
}

extension JSONValue {
  /// Whether both are the same with the bytes of all strings: `==` takes canonically equivalent ones for equal.
  func isExactly(_ other: JSONValue) -> Bool {
    switch (self, other) {
    case (.string(let own), .string(let text)): own.hasBytes(of: text)
    case (.array(let own), .array(let elements)):
      own.count == elements.count && zip(own, elements).allSatisfy { $0.isExactly($1) }
    case (.object(let own), .object(let members)):
      own.count == members.count
        && own.allSatisfy { name, value in
          members.index(forKey: name).map { members[$0].key.hasBytes(of: name) && value.isExactly(members[$0].value) }
            ?? false
        }
    default: self == other
    }
  }

  fileprivate var members: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }

  fileprivate var elements: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
}
