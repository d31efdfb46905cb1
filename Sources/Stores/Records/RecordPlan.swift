package import GraphQLLanguage
package import StrictJSON
import SystemBase

/// Why a cache cannot take or give a response. Nothing is changed then.
package enum RecordError: Error, Hashable, Sendable {
  /// The document has no such operation or fragment.
  case noDefinition(String?)
  /// The selections cannot be followed.
  case selections(Selections.Problem)
  /// More than this many different selections on objects result from merging a document's selection sets.
  case tooManySelections(limit: Int)
  /// Data that were made here lack the `__typename` of a field's object, and the schema does not know it.
  case unknownType(field: String)
  /// Such data lack an object's key.
  case unknownKey(field: String)
  /// The entity has been given up, since nothing pointed to it.
  case noEntity
  /// A response is no JSON.
  case malformed(JSONError?)
  /// A field with subfields has neither an object nor a list nor null, one that stands for the response as a whole.
  case mismatch(field: String)
  /// The response or a result has more bytes than this.
  case tooLarge(limit: Int)
  /// A result nests deeper than any reader of JSON goes.
  case tooDeep(limit: Int)
}

extension RecordError {
  /// The error with the place at which a reader finds a response malformed, which counts before all others.
  func completed(by data: RawSpan) -> RecordError {
    do throws(JSONError) {
      try JSONReader.reading(data) { json throws(JSONError) in try json.skipValue() }
      return self
    } catch {
      return .malformed(error)
    }
  }
}

/// What a document selects, in the form that records are written and read by: one operation, or one fragment. It is
/// made once for each document.
package struct RecordPlan: Sendable {
  /// The document's operation; `nil` for a fragment.
  package let operation: OperationSyntax?
  let selections: Selections
  let schema: RecordSchema
  /// The type that the selections begin with; that of a fragment may be abstract.
  package let rootType: String

  /// How many selection sets may be within one another.
  package static var depthLimit: Int { 64 }

  /// Takes an operation, the only one or the one of a name.
  package init(
    _ document: DocumentSyntax, operation name: String? = nil, schema: RecordSchema
  ) throws(RecordError) {
    let named = document.operations.filter { name == nil || $0.name?.text == name }
    guard let operation = named.first, named.count == 1 else { throw .noDefinition(name) }
    let rootType =
      switch operation.kind {
      case .query: schema.roots.query
      case .mutation: schema.roots.mutation
      case .subscription: schema.roots.subscription
      }
    try self.init(operation, document, operation: operation, rootType: rootType, schema)
  }

  /// Takes a fragment, to read it for one entity.
  package init(_ document: DocumentSyntax, fragment name: String, schema: RecordSchema) throws(RecordError) {
    guard let fragment = document.fragments.last(where: { $0.name == name }),
      // Selections are those of an operation: here, of one that spreads the fragment.
      let spreading = try? DocumentSyntax(parsing: document.source + "\n{ ...\(name) }"),
      let operation = spreading.operations.last
    else { throw .noDefinition(name) }
    try self.init(operation, spreading, operation: nil, rootType: fragment.typeCondition.name.text, schema)
  }

  private init(
    _ root: OperationSyntax, _ document: DocumentSyntax, operation: OperationSyntax?, rootType: String,
    _ schema: RecordSchema
  ) throws(RecordError) {
    self.operation = operation
    self.schema = schema
    self.rootType = rootType
    selections = Selections(of: root, FragmentTable(document))
    do throws(Selections.Problem) {
      _ = try selections.depths(upTo: Self.depthLimit)
    } catch {
      throw .selections(error)
    }
  }
}

/// A plan with the values of its variables, and with the numbers that a cache has for its types and fields. These are
/// looked up when they are first met, so it is passed to the cache as `inout`, and best kept for the next time.
package struct PreparedPlan: Sendable {
  /// What is selected on one object, of any type.
  struct Node: Sendable {
    /// The first of the types that have been met; -1 if there is none.
    var firstTyped: Int32 = -1
    /// The member of the response that has `__typename`, with quotes and colon, in `text`; empty if there is none.
    var typename: Range<Int32>
  }

  /// What is selected on an object of one type.
  struct Typed: Sendable {
    let type: UInt32
    /// The name of the type, in `text`, where it is between quotes.
    let name: Range<Int32>
    /// Whether the name needs escapes in JSON: then its bytes there are others, and the same bytes may be another name.
    let isEscaped: Bool
    /// In `fields`, in the order of the response.
    let fields: Range<Int32>
    /// The place in `fields` of the first that is `__typename`; -1 if there is none.
    let typename: Int32
    /// In `keyFields`.
    let key: Range<Int32>
    /// In `staleTimes`: those of its fields that have one.
    let staleTimes: Range<Int32>
    /// Whether the objects of the type are entities without a key.
    let isRoot: Bool
    /// Whether two of the fields are the same, under different names.
    let hasTwins: Bool
    /// Whether there is a fragment of which it is not known whether it applies. Its fields are written if they are
    /// there.
    let isUndecided: Bool
    /// The next type of the same node; -1 if there is none.
    let next: Int32
  }

  struct Field: Sendable {
    /// The name in the response, with quotes and colon, in `text`.
    let name: Range<Int32>
    let field: UInt32
    /// The place in an entity; -1 for a field with arguments.
    let place: Int32
    /// The node of what is selected of its objects; -1 for a field without subfields.
    let node: Int32
    /// In `pages`; -1 for a field whose list does not come in pages.
    let page: Int32
  }

  package let plan: RecordPlan
  let variables: RecordVariables
  private var owner: UInt64 = 0

  private(set) var nodes: [Node] = []
  private var nodeSets: [[Int]] = []
  private var nodeNumbers: [[Int]: Int32] = [:]
  private(set) var typed: [Typed] = []
  private(set) var fields: [Field] = []
  /// The places in `fields` of the fields of keys.
  private(set) var keyFields: [Int32] = []
  /// How long fields may be used, with their places in `fields`.
  private(set) var staleTimes: [(planned: Int32, time: Duration)] = []
  /// Which pages fields mean.
  private(set) var pages: [PageArguments] = []
  /// Whether reads give all pages that belong together, not only the one that a field means.
  var readsAllPages = false
  /// Whether a write replaces what a read of the same plan gives, as an edit does, not what a server may have beside it.
  var replacesPages = false
  /// The names, followed by zero bytes, so that 32 may be read at once.
  private(set) var text: [UInt8] = []

  /// How many nodes a plan may have: merging sets may make more of them than there are in the document.
  static var nodeLimit: Int { 20_000 }

  /// Takes the variables that are sent with the operation.
  package init(_ plan: RecordPlan, variables: [String: JSONValue] = [:]) {
    self.plan = plan
    self.variables = RecordVariables(variables, of: plan.operation)
  }

  /// Makes sure that the numbers are those of a cache, and that the root's node is there, which is node 0.
  mutating func attach(to cache: borrowing RecordCache) throws(RecordError) {
    guard owner != cache.identity else { return }
    owner = cache.identity
    (nodes, nodeSets, nodeNumbers, typed, fields, keyFields, pages, text) = ([], [], [:], [], [], [], [], [])
    staleTimes = []
    _ = try node([0])
  }

  private mutating func node(_ sets: [Int]) throws(RecordError) -> Int32 {
    if let number = nodeNumbers[sets] { return number }
    guard nodes.count < Self.nodeLimit else { throw .tooManySelections(limit: Self.nodeLimit) }
    let number = Int32(truncatingIfNeeded: nodes.count)
    nodeNumbers[sets] = number
    nodeSets.append(sets)
    // A fragment on another type may give the name to another field, but not in a document that is valid.
    let typename = plan.selections.collect(sets) { self.variables.allow($0.conditions) }
      .first { $0.fields[0].name == "__typename" }
    nodes.append(Node(typename: append(typename.map { "\"\($0.key)\":" } ?? "")))
    return number
  }

  private mutating func append(_ string: String) -> Range<Int32> {
    text.removeLast(min(text.count, Chunk.padding))
    let start = Int32(truncatingIfNeeded: text.count)
    text += string.utf8
    let end = Int32(truncatingIfNeeded: text.count)
    text += repeatElement(0, count: Chunk.padding)
    return start..<end
  }

  /// What a node selects on objects of a type.
  @inline(__always)
  mutating func typed(_ node: Int32, _ type: UInt32, in cache: inout RecordCache) throws(RecordError) -> Int32 {
    var number = nodes[Int(node)].firstTyped
    while number >= 0 {
      if typed[Int(number)].type == type { return number }
      number = typed[Int(number)].next
    }
    return try resolve(node, type, in: &cache)
  }

  /// What a node selects on objects of a type, which is given by its name in a response.
  @inline(__always)
  mutating func typed(
    _ node: Int32, named name: UnsafeBufferPointer<UInt8>, in cache: inout RecordCache
  ) throws(RecordError) -> Int32 {
    var number = nodes[Int(node)].firstTyped
    while number >= 0 {
      if isText(typed[Int(number)].name, name) { return number }
      number = typed[Int(number)].next
    }
    return try resolve(node, cache.type(named: String(decoding: name, as: UTF8.self)), in: &cache)
  }

  @inline(__always)
  private func isText(_ range: Range<Int32>, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    let count = Int(range.upperBound &- range.lowerBound)
    guard count == bytes.count, let start = bytes.baseAddress else { return false }
    return text.withUnsafeBufferPointer { text in
      text.baseAddress.map { areEqual($0 + Int(range.lowerBound), start, count) } ?? false
    }
  }

  @inline(never)
  private mutating func resolve(
    _ node: Int32, _ type: UInt32, in cache: inout RecordCache
  ) throws(RecordError) -> Int32 {
    guard typed.count < Self.nodeLimit else { throw .tooManySelections(limit: Self.nodeLimit) }
    let typeName = cache.typeNames[Int(type)]
    var isUndecided = false
    // Whether a selection applies, and whether it does if what is not known is supposed to apply.
    func applies(_ selection: Selections.Selection, supposed: Bool) -> Bool {
      guard variables.allow(selection.conditions) else { return false }
      guard case .fragment(let fragment) = selection, let condition = fragment.type else { return true }
      if let matches = type == 0 ? nil : plan.schema.matches(typeName, condition: condition) { return matches }
      isUndecided = true
      return supposed
    }
    let sets = nodeSets[Int(node)]
    var groups = plan.selections.collect(sets) { applies($0, supposed: false) }.map { ($0.key, $0.fields) }
    if isUndecided {
      let known = Dictionary(uniqueKeysWithValues: groups)
      groups = plan.selections.collect(sets) { applies($0, supposed: true) }.compactMap { group in
        let first = known[group.key]?.first ?? group.fields[0]
        let key = variables.key(of: first.syntax)
        let same = group.fields.filter { variables.key(of: $0.syntax).hasBytes(of: key) }
        // Fields of fragments that exclude each other may share a name: then none of them is known to be meant.
        return known[group.key] != nil || same.count == group.fields.count ? (group.key, same) : nil
      }
    }
    var resolved: [Field] = []
    for (name, group) in groups {
      let syntax = group[0].syntax
      let paging = plan.schema.paging.isEmpty ? nil : plan.schema.paging["\(typeName).\(syntax.name.text)"]
      let page = paging.flatMap { PageArguments(of: syntax, $0, variables, cache) }
      let key = variables.key(of: syntax, without: page == nil ? [] : paging?.arguments ?? [])
      guard let field = cache.field(key) else { throw .tooManySelections(limit: Slot.fieldLimit) }
      if let page { pages.append(page) }
      let sets = group.compactMap(\.set)
      let child = sets.isEmpty ? -1 : try self.node(sets)
      resolved.append(
        Field(
          name: append("\"\(name)\":"), field: field, place: cache.place(of: field, in: type), node: child,
          page: page == nil ? -1 : Int32(truncatingIfNeeded: pages.count - 1)))
    }
    let start = Int32(truncatingIfNeeded: fields.count)
    let keyStart = Int32(truncatingIfNeeded: keyFields.count)
    fields += resolved
    let isRoot = plan.schema.roots.contains(typeName)
    if type != 0, !isRoot {
      let key = plan.schema.key(of: typeName).map { name in
        groups.firstIndex { _, fields in fields[0].name == name && fields[0].syntax.arguments.isEmpty }
      }
      if key.allSatisfy({ $0 != nil }) {
        keyFields += key.compactMap { $0.map { start + Int32(truncatingIfNeeded: $0) } }
      }
    }
    let staleStart = Int32(truncatingIfNeeded: staleTimes.count)
    if type != 0, !cache.dates.staleTimes.isEmpty {
      let key = isRoot ? [] : plan.schema.key(of: typeName)
      for (index, group) in groups.enumerated() {
        let name = group.1[0].name
        if let time = cache.dates.staleTime(of: name, in: typeName, isKey: key.contains(name)) {
          staleTimes.append((start + Int32(truncatingIfNeeded: index), time))
        }
      }
    }
    let typename = resolved.firstIndex { $0.field == 0 }
    let quoted = append("\"\(typeName)\"")
    let number = Int32(truncatingIfNeeded: typed.count)
    typed.append(
      Typed(
        type: type, name: (quoted.lowerBound + 1)..<(quoted.upperBound - 1),
        isEscaped: typeName.utf8.contains { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") },
        fields: start..<Int32(truncatingIfNeeded: fields.count),
        typename: typename.map { start + Int32(truncatingIfNeeded: $0) } ?? -1,
        key: keyStart..<Int32(truncatingIfNeeded: keyFields.count),
        staleTimes: staleStart..<Int32(truncatingIfNeeded: staleTimes.count), isRoot: isRoot,
        hasTwins: Set(resolved.map(\.field)).count < resolved.count, isUndecided: isUndecided,
        next: nodes[Int(node)].firstTyped))
    nodes[Int(node)].firstTyped = number
    return number
  }
}
