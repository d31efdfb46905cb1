import SystemBase

/// What the server has refused of what operations begin with, for as long as it is missing. A journal is given it again
/// where all that there is takes the place of its entries: some process may not have read the one that said it.
struct RefusedFields: Sendable {
  /// Names, since numbers are used again for others.
  private struct Name: Hashable, Sendable {
    let type: ExactText
    let field: ExactText
  }

  private var names = LRUCache<Name, Bool>(countLimit: 1 << 12, costLimit: 1 << 20)

  /// Keeps those of some fields that are missing.
  mutating func note(_ fields: [RecordChange], in cache: RecordCache) {
    for field in fields where isMissing(field, in: cache) {
      if let name = name(of: field, in: cache) { _ = names.write(true, for: name, cost: name.field.text.utf8.count) }
    }
  }

  /// Forgets those of some fields that are there again.
  mutating func forget(_ fields: [RecordChange], in cache: RecordCache) {
    if names.keys.isEmpty { return }
    for field in fields where !isMissing(field, in: cache) {
      if let name = name(of: field, in: cache) { _ = names.remove(name) }
    }
  }

  /// All of them.
  func fields(in cache: RecordCache) -> [RecordChange] {
    names.keys.compactMap { name in
      guard let root = cache.root(name.type.text), let field = cache.fieldNumber(name.field.text) else { return nil }
      return cache.change(root, field)
    }
  }

  private func isMissing(_ field: RecordChange, in cache: RecordCache) -> Bool {
    cache.answered(field.entity, field.field, at: field.place).kind == .missing
  }

  private func name(of field: RecordChange, in cache: RecordCache) -> Name? {
    let entity = RecordID(number: field.entity)
    guard let type = cache.typeName(of: entity), cache.root(type) == entity else { return nil }
    return Name(type: ExactText(type), field: ExactText(cache.fieldKeys[Int(field.field)]))
  }
}
