@testable import Stores

/// A value of the naive cache.
indirect enum ModelValue {
  case null
  case error
  case scalar(String)
  case reference(String)
  /// With the number of the write that made it.
  case list(write: Int, [ModelValue])
  case object([String: ModelValue])

  var isPartial: Bool {
    switch self {
    case .error: true
    case .null, .scalar, .reference: false
    case .list(_, let elements): elements.contains(where: \.isPartial)
    case .object(let fields): fields.values.contains(where: \.isPartial)
    }
  }

  /// A text that is equal for equal values.
  var text: String {
    switch self {
    case .null: "null"
    case .error: "error"
    case .scalar(let text): text
    case .reference(let key): "@" + key
    case .list(_, let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
    case .object(let fields): "{" + fields.map { "\($0):\($1.text)" }.sorted().joined(separator: ",") + "}"
    }
  }
}

extension ModelValue {
  /// The names of the fields of embedded objects.
  var names: [String] {
    switch self {
    case .null, .error, .scalar, .reference: []
    case .list(_, let elements): elements.flatMap(\.names)
    case .object(let fields): fields.flatMap { [$0] + $1.names }
    }
  }

  /// The value without fields with arguments of embedded objects that are not kept.
  func pruned(_ isKept: (String) -> Bool) -> ModelValue {
    switch self {
    case .null, .error, .scalar, .reference: self
    case .list(let write, let elements): .list(write: write, elements.map { $0.pruned(isKept) })
    case .object(let fields):
      .object(fields.filter { !$0.key.hasSuffix(")") || isKept($0.key) }.mapValues { $0.pruned(isKept) })
    }
  }
}

/// A field of an entity.
struct ModelField: Hashable, Comparable {
  let entity: String
  let field: String

  var text: String { "\(entity).\(field)" }
  static func < (left: ModelField, right: ModelField) -> Bool { left.text < right.text }
}

/// A normalised cache of dictionaries, written to be evidently right.
struct ModelCache {
  var base: [ModelField: ModelValue] = [:]
  /// The outer `nil` is no slot, the inner one a field that is removed.
  var layers: [UInt64: [ModelField: ModelValue?]] = [:]
  private var write = 0

  func visible(_ field: ModelField, upTo top: UInt64 = .max) -> ModelValue? {
    for (_, layer) in layers.filter({ $0.key <= top }).sorted(by: { $0.key > $1.key }) {
      if let slot = layer[field] { return slot }
    }
    return base[field]
  }

  /// All that is visible, without what cannot be read.
  var snapshot: [ModelField: String] {
    var slots: [ModelField: ModelValue?] = base
    for (_, layer) in layers.sorted(by: { $0.key < $1.key }) { slots.merge(layer) { $1 } }
    return slots.compactMapValues { value in
      if case .error? = value { nil } else { value?.text }
    }
  }

  /// The fields whose visible values an operation changes.
  mutating func changes(_ body: (inout ModelCache) -> Void) -> [String] {
    let before = snapshot
    body(&self)
    let after = snapshot
    return Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }.map(\.text).sorted()
  }

  mutating func store(_ response: ModelResponse, in layer: UInt64?) {
    write += 1
    guard case .object(_, _, let fields) = response else { return }
    let values = fields.map { ($0.fieldKey, value($0.2, layer)) }
    for (field, value) in values { put(value, ModelField(entity: "Query", field: field), layer) }
  }

  private mutating func value(_ response: ModelResponse, _ layer: UInt64?) -> ModelValue {
    switch response {
    case .null(let isError): return isError ? .error : .null
    case .scalar("null"): return .null
    case .scalar(let text): return .scalar(text)
    case .list(let elements): return .list(write: write, elements.map { value($0, layer) })
    case .object(let type, let id, let fields):
      let values = fields.map { ($0.fieldKey, value($0.2, layer)) }
      if let id, fields.contains(where: { $0.fieldKey == "id" }) {
        for (field, value) in values { put(value, ModelField(entity: "\(type):\(id)", field: field), layer) }
        return .reference("\(type):\(id)")
      }
      var object: [String: ModelValue] = [:]
      for (field, value) in values { object[field] = combined(object[field], value) ?? object[field] }
      return .object(object)
    }
  }

  private mutating func put(_ new: ModelValue, _ field: ModelField, _ layer: UInt64?) {
    if let layer {
      if case .error = new { return }
      let old = visible(field, upTo: layer)
      if let value = combined(old, new) ?? old { layers[layer]?[field] = .some(value) }
    } else if let value = combined(base[field], new) {
      base[field] = value
    }
  }

  /// What comes of two values; `nil` if the old one stays.
  private func combined(_ old: ModelValue?, _ new: ModelValue) -> ModelValue? {
    guard let old else { return new }
    switch (old, new) {
    case (_, .error): return nil
    case (.object(let left), .object(let right)) where left["__typename"]?.text == right["__typename"]?.text:
      var result = left
      for (field, value) in right { result[field] = combined(result[field], value) ?? result[field] }
      return .object(result)
    case (.list(let made, let left), .list(_, let right)):
      if made == write, left.count == right.count {
        return .list(write: write, zip(left, right).map { combined($0, $1) ?? $0 })
      }
      if new.isPartial, !old.isPartial { return nil }
      return old.text == new.text ? nil : new
    default: return new
    }
  }

  mutating func settle(_ number: UInt64) {
    guard let layer = layers.removeValue(forKey: number) else { return }
    if let lower = layers.keys.filter({ $0 < number }).max() {
      layers[lower]?.merge(layer) { $1 }
    } else {
      for (field, value) in layer { base[field] = value }
    }
  }

  mutating func remove(_ isRemoved: (ModelField) -> Bool, in layer: UInt64?) {
    if let layer {
      for field in Set(base.keys).union(layers.values.flatMap(\.keys)) where isRemoved(field) {
        if visible(field, upTo: layer) != nil { layers[layer]?[field] = .some(nil) }
      }
    } else {
      base = base.filter { !isRemoved($0.key) }
    }
  }

  /// Keeps the entities that have been read, those in layers, and of fields with arguments those that have been read.
  mutating func collect(retaining read: Set<ModelField>) {
    var fields = read
    var entities = Set(read.map(\.entity))
    for layer in layers.values {
      for (field, value) in layer {
        fields.insert(field)
        entities.insert(field.entity)
        value.map { references(in: $0, &entities) }
      }
    }
    // What layers hide may be seen again, with all that can be reached from it.
    var (next, reached, below) = (Set<String>(), Set<String>(), base)
    func reach(_ value: ModelValue, of entity: String) {
      references(in: value, &next)
      for name in value.names { fields.insert(ModelField(entity: entity, field: "embedded " + name)) }
    }
    for number in layers.keys.sorted() {
      for (field, value) in layers[number] ?? [:] {
        if let hidden = below[field] { reach(hidden, of: field.entity) }
        below[field] = value
      }
    }
    while let entity = next.popFirst() {
      guard reached.insert(entity).inserted else { continue }
      for (field, value) in base where field.entity == entity {
        fields.insert(field)
        reach(value, of: entity)
      }
      for layer in layers.values {
        for (field, value) in layer where field.entity == entity { if let value { reach(value, of: entity) } }
      }
    }
    entities.formUnion(reached)
    base = base.filter { field, _ in
      entities.contains(field.entity) && (!field.field.hasSuffix(")") || fields.contains(field))
    }
    for (field, value) in base {
      base[field] = value.pruned { fields.contains(ModelField(entity: field.entity, field: "embedded " + $0)) }
    }
  }

  private func references(in value: ModelValue, _ entities: inout Set<String>) {
    switch value {
    case .null, .error, .scalar: break
    case .reference(let key): entities.insert(key)
    case .list(_, let elements): for element in elements { references(in: element, &entities) }
    case .object(let fields): for value in fields.values { references(in: value, &entities) }
    }
  }
}

/// A read of the naive cache.
struct ModelRead {
  let cache: ModelCache
  let isPartial: Bool
  var missing: [String] = []
  var dependencies: Set<ModelField> = []
  /// The entity that is read.
  private var holder = ""

  init(_ cache: ModelCache, isPartial: Bool) {
    self.cache = cache
    self.isPartial = isPartial
  }

  /// The JSON; `nil` for a miss.
  mutating func entity(_ key: String, _ sets: [[ModelSelection]], _ path: [String] = []) -> String? {
    let outer = holder
    holder = key
    defer { holder = outer }
    let type = String(key.split(separator: ":")[0])
    return fields(sets, type, path) { read, field in
      let place = ModelField(entity: key, field: field)
      read.dependencies.insert(place)
      return read.cache.visible(place)
    }
  }

  private mutating func fields(
    _ sets: [[ModelSelection]], _ type: String, _ path: [String],
    _ value: (inout ModelRead, String) -> ModelValue?
  ) -> String? {
    let (groups, isUndecided) = ModelSelection.collect(sets, type: type, mystery: true)
    if isUndecided, !miss(path) { return nil }
    var members: [String] = []
    for group in groups {
      let found = value(&self, group.fieldKey)
      guard let text = text(found, group, path + [group.key]) else { return nil }
      members.append("\"\(group.key)\":\(text)")
    }
    return "{" + members.joined(separator: ",") + "}"
  }

  private mutating func text(_ value: ModelValue?, _ group: ModelSelection.Group, _ path: [String]) -> String? {
    switch value {
    case nil, .error: return miss(path) ? "null" : nil
    case .null: return "null"
    case .scalar(let text): return text
    case .reference(let key): return entity(key, group.sets, path)
    case .object(let fields):
      let type = fields["__typename"]?.text.filter { $0 != "\"" } ?? "?"
      return self.fields(group.sets, type, path) { read, field in
        if field.hasSuffix(")") {
          read.dependencies.insert(ModelField(entity: read.holder, field: "embedded " + field))
        }
        return fields[field]
      }
    case .list(_, let elements):
      var texts: [String] = []
      for (index, element) in elements.enumerated() {
        guard let text = text(element, group, path + [String(index)]) else { return nil }
        texts.append(text)
      }
      return "[" + texts.joined(separator: ",") + "]"
    }
  }

  private mutating func miss(_ path: [String]) -> Bool {
    missing.append(path.joined(separator: "."))
    return isPartial
  }
}
