import HTTPClientCore
import StrictJSON
import SystemBase

/// Puts a response together that arrives in parts. It keeps the merged data, and what is announced and not yet there.
///
/// The forms are told apart by their shape: what has the id of something announced belongs to that, anything else to
/// its path.
struct IncrementalMerger: Sendable {
  private typealias Path = IncrementalPayload.Path

  /// A deferred fragment of one object.
  private struct Fragment: Hashable {
    let path: Path
    let label: String?
  }

  /// The data so far, as the server sent it; `nil` until the first payload has come.
  private(set) var data: JSONValue?
  /// The errors so far, at most 100.
  private(set) var errors: [GraphQLError] = []
  /// The extensions; of equal members the last counts.
  private(set) var extensions: JSONValue?
  /// Whether data has come, and not only `null`.
  var hasData: Bool { data.map { $0 != .null } ?? false }
  /// Whether the last payload has come.
  private(set) var isComplete = false
  /// Whether the last one said that others follow; `nil` if it did not say, and may be the last.
  private var hasNext: Bool? = true

  private let plan: IncrementalPlan
  /// Whether the data may have members for fragments already.
  private var keepsLabels = false
  private let sent: SentSecrets
  private var hasBegun = false
  /// Whether the server announces what is still to come.
  private var announces = false
  private var pending: [String: Fragment] = [:]
  private var delivered: Set<Fragment> = []
  private var failed: [Fragment: [GraphQLError]] = [:]

  /// Merges the response to a request that carried these secrets.
  init(_ plan: IncrementalPlan, without sent: SentSecrets) {
    self.plan = plan
    self.sent = sent
  }

  /// Takes the next payload. Throws `badResponse` for one that does not fit what came before. Does nothing once the
  /// response is complete: some servers send an empty payload behind the last one.
  mutating func merge(_ payload: IncrementalPayload) throws(RequestError) {
    if isComplete { return }
    if !hasBegun {
      hasBegun = true
      data = payload.top.data
      add(payload.top.errors)
    } else if payload.top.path != nil {
      try merge(payload.top)
    } else {
      guard payload.top.data == nil else { throw .unfit("a later payload has data, but no path for it") }
      add(payload.top.errors)
    }
    if !payload.pending.isEmpty { announces = true }
    for item in payload.pending {
      guard pending.updateValue(Fragment(path: item.path, label: item.label), forKey: item.id) == nil else {
        throw .unfit("'\(item.id)' is announced twice")
      }
    }
    for part in payload.incremental {
      try merge(part)
      merge(extensions: part.extensions)
    }
    for completed in payload.completed {
      guard let fragment = pending.removeValue(forKey: completed.id) else {
        throw .unfit("'\(completed.id)' ends, but was not announced")
      }
      if let errors = completed.errors { fail(fragment, errors) } else { delivered.insert(fragment) }
    }
    merge(extensions: payload.top.extensions)
    hasNext = payload.hasNext
    if hasNext == false { try end() }
  }

  /// The response has ended as it should. If the last payload did not say whether others follow, it was the last; before,
  /// a cut would have looked the same.
  mutating func finish() throws(RequestError) {
    if hasNext == nil, !isComplete { try end() }
  }

  private mutating func end() throws(RequestError) {
    if let id = pending.keys.min() { throw .unfit("it ends although '\(id)' has not arrived") }
    isComplete = true
  }

  private mutating func merge(_ part: IncrementalPayload.Part) throws(RequestError) {
    let announced = part.id.flatMap { pending[$0] }
    guard let path = announced?.path ?? part.path else {
      throw .unfit(part.id.map { "'\($0)' was not announced" } ?? "a part has neither an id nor a path")
    }
    let target = path + part.subPath
    if let items = part.items {
      guard case .array(let items) = items else { return fail(Fragment(path: path, label: nil), part.errors) }
      if announced != nil {
        try append(items, at: target, from: nil)
      } else if case .index(let start)? = target.last {
        try append(items, at: target.dropLast(), from: start)
      } else {
        try append(items, at: target, from: nil)
      }
    } else if let value = part.data {
      let fragment = Fragment(path: path, label: part.label)
      if announced == nil, case .index(let index)? = target.last, count(at: target.dropLast()) == index {
        try append([value], at: target.dropLast(), from: index)
      } else if value == .null {
        return fail(fragment, part.errors)
      } else {
        try add(value, to: target)
        if announced == nil { delivered.insert(fragment) }
      }
    }
    add(part.errors)
  }

  /// Appends items to a list; `start` is where the first belongs, if the server says so.
  private mutating func append(
    _ items: [JSONValue], at path: some Sequence<GraphQLError.PathElement>, from start: Int?
  ) throws(RequestError) {
    let path = Array(path)
    var problem: String?
    try update(path[...]) { list in
      guard case .array(var elements) = list else {
        problem = "items came for \(path.text), which is no list"
        return
      }
      guard start == nil || start == elements.count else {
        problem = "items for \(path.text) begin at \(start ?? 0), but it has \(elements.count)"
        return
      }
      list = .null
      elements += items
      list = .array(elements)
    }
    if let problem { throw .unfit(problem) }
  }

  /// Adds the members of a deferred fragment to its object.
  private mutating func add(_ value: JSONValue, to path: Path) throws(RequestError) {
    guard case .object = value else { throw .unfit("what came for \(path.text) is no object") }
    var isObject = true
    try update(path[...]) { object in
      guard case .object = object else { return isObject = false }
      object.merge(value)
    }
    guard isObject else { throw .unfit("a fragment came for \(path.text), which is no object") }
  }

  private func count(at path: some Sequence<GraphQLError.PathElement>) -> Int? {
    var value = data
    for step in path {
      switch (step, value) {
      case (.key(let key), .object(let members)?): value = members[key]
      case (.index(let index), .array(let elements)?) where elements.indices.contains(index): value = elements[index]
      default: return nil
      }
    }
    return value?.arrayValue?.count
  }

  private mutating func update(
    _ path: ArraySlice<GraphQLError.PathElement>, _ change: (inout JSONValue) -> Void
  ) throws(RequestError) {
    // No longer than what a JSON text can nest, so that the recursion has a limit.
    guard path.count <= JSONReader.depthLimit, data?.update(at: path, change) == true else {
      throw .unfit("there is nothing at \(Array(path.prefix(JSONReader.depthLimit)).text)")
    }
  }

  private mutating func merge(extensions new: JSONValue?) {
    guard case .object(let members)? = new else { return }
    guard case .object(let old)? = extensions else { return extensions = new }
    extensions = .object(old.merging(members) { $1 })
  }

  private mutating func fail(_ fragment: Fragment, _ errors: [GraphQLError]) {
    let given =
      errors.isEmpty
      ? [GraphQLError(message: "A part of the response failed; the server does not say why.", path: fragment.path)]
      : errors
    // They become part of the data, in which no one can find them later.
    let errors = GraphQLErrors(given).redacted(by: sent.redactor).errors
    failed[fragment] = errors
    add(errors)
  }

  private mutating func add(_ new: [GraphQLError]) {
    errors += new.prefix(max(0, 100 - errors.count))
  }
}

// MARK: - What decoders read

extension IncrementalMerger {
  /// The data, with a member for each deferred fragment that has a label; ``Deferred`` reads it.
  var decodableData: JSONValue? {
    var path: Path = []
    let outstanding = Set(pending.values)
    return data.map { labelled($0, plan.objects.count - 1, &path, outstanding) }
  }

  /// Data of which all has arrived, with such a member for each of these fragments that has none yet.
  static func labelled(_ data: JSONValue, by plan: IncrementalPlan) -> JSONValue {
    var merger = IncrementalMerger(plan, without: SentSecrets())
    (merger.data, merger.isComplete, merger.keepsLabels) = (data, true, true)
    return merger.decodableData ?? data
  }

  private func labelled(
    _ value: JSONValue, _ object: Int, _ path: inout Path, _ outstanding: Set<Fragment>
  ) -> JSONValue {
    let selected = plan.objects[object]
    guard selected.hasFragments else { return value }
    switch value {
    case .array(let elements):
      var labelledElements: [JSONValue] = []
      for (index, element) in elements.enumerated() {
        path.append(.index(index))
        labelledElements.append(labelled(element, object, &path, outstanding))
        path.removeLast()
      }
      return .array(labelledElements)
    case .object(let members):
      var labelledMembers = members
      for case (let key, let inner?) in selected.fields where plan.objects[inner].hasFragments {
        guard let member = members[key] else { continue }
        path.append(.key(key))
        labelledMembers[key] = labelled(member, inner, &path, outstanding)
        path.removeLast()
      }
      for (label, inner) in selected.fragments where !keepsLabels || members[label] == nil {
        labelledMembers[label] = state(of: label, inner, in: members, &path, outstanding)
      }
      return .object(labelledMembers)
    default: return value
    }
  }

  private func state(
    of label: String, _ object: Int, in members: [String: JSONValue], _ path: inout Path,
    _ outstanding: Set<Fragment>
  ) -> JSONValue {
    let fragment = Fragment(path: path, label: label)
    if let errors = failed[fragment] {
      let text = (try? JSONCoder().encode(errors)) ?? Data("[]".utf8)
      return [DeferredKeys.failed.rawValue: .string(String(decoding: text, as: UTF8.self))]
    }
    // A fragment within the fragment may be of the same object, so that it is looked for in all of its members.
    guard !outstanding.contains(fragment),
      case .object(let all) = labelled(.object(members), object, &path, outstanding)
    else { return [:] }
    let selected = plan.objects[object]
    let own = all.filter { selected.fields[$0.key] != nil || selected.fragments[$0.key] != nil }
    guard delivered.contains(fragment) || plan.isContained(object, in: members) ?? mayBeAll(own, of: selected) else {
      return [:]
    }
    return [DeferredKeys.ready.rawValue: .object(own)]
  }

  /// Whether a fragment of which nothing must be there has arrived: once nothing else can come, if there is anything of
  /// it. One that consists of others has arrived with the first of them: servers announce and send only those.
  private func mayBeAll(_ own: [String: JSONValue], of selected: IncrementalPlan.Object) -> Bool {
    guard isComplete || announces || selected.fields.isEmpty else { return false }
    return own.contains { selected.fields[$0.key] != nil || $0.value != [:] }
  }
}

// What is changed must be held in one place alone, or all of it would be copied: so a value is set to null while its
// content is changed. (A `switch` over two values keeps a copy of both.)
extension JSONValue {
  /// Changes the value at a path in place; returns false if there is none.
  fileprivate mutating func update(
    at path: ArraySlice<GraphQLError.PathElement>, _ change: (inout JSONValue) -> Void
  ) -> Bool {
    switch path.first {
    case nil:
      change(&self)
      return true
    case .key(let key):
      guard case .object(var members) = self, let place = members.index(forKey: key) else { return false }
      self = .null
      defer { self = .object(members) }
      return members.values[place].update(at: path.dropFirst(), change)
    case .index(let index):
      guard case .array(var elements) = self, elements.indices.contains(index) else { return false }
      self = .null
      defer { self = .array(elements) }
      return elements[index].update(at: path.dropFirst(), change)
    }
  }

  /// Adds the members of another object, and what it has inside those of the same name; lists by their places.
  fileprivate mutating func merge(_ other: JSONValue) {
    if case .object(let others) = other, case .object(var members) = self {
      self = .null
      for (key, value) in others {
        if let place = members.index(forKey: key) {
          members.values[place].merge(value)
        } else {
          members[key] = value
        }
      }
      self = .object(members)
    } else if case .array(let others) = other, case .array(var elements) = self {
      self = .null
      for (index, value) in others.enumerated() {
        if index < elements.count { elements[index].merge(value) } else { elements.append(value) }
      }
      self = .array(elements)
    } else {
      self = other
    }
  }
}

extension IncrementalPayload.Path {
  /// The path as errors show it.
  fileprivate var text: String {
    isEmpty ? "the top of the data" : "'\(GraphQLError(message: "", path: self).pathText)'"
  }
}

extension RequestError {
  /// A payload that does not fit.
  fileprivate static func unfit(_ reason: String) -> RequestError {
    RequestError(.badResponse, "The response arrives in parts that do not fit: \(reason).")
  }
}
