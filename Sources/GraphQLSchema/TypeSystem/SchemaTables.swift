import GraphQLLanguage

/// The contents of a schema: flat tables, in which things refer to each other by number.
///
/// Fields stand in the order in which they are defined, those of a type's extensions after its own. Once built, the
/// tables never change.
struct SchemaTables: Sendable {
  /// A node of one of the schema's documents.
  struct Source: Sendable {
    let document: Int32
    let node: UInt32
  }

  struct TypeRecord: Sendable {
    let name: NameTable.ID
    let kind: TypeKind
    let source: Source
    /// The fields of an object or interface, and those of an input object (in `inputs`).
    var fields: Range<Int32> = 0..<0
    var inputFields: Range<Int32> = 0..<0
    /// The values of an enum.
    var values: Range<Int32> = 0..<0
    /// The interfaces that an object or interface implements.
    var interfaces: Range<Int32> = 0..<0
    /// The members of a union, or the objects that implement an interface.
    var possibleTypes: Range<Int32> = 0..<0
    var isOneOf = false
  }

  struct FieldRecord: Sendable {
    let name: NameTable.ID
    let owner: TypeID
    let type: TypeRef
    let source: Source
    let arguments: Range<Int32>
    let isDeprecated: Bool
    /// Whether one of its arguments must be given.
    let hasRequiredArguments: Bool
  }

  /// An argument or an input field.
  struct InputRecord: Sendable {
    let name: NameTable.ID
    let type: TypeRef
    let source: Source
    let hasDefault: Bool
    let isDeprecated: Bool

    var isRequired: Bool { type.isNonNull && !hasDefault }
  }

  struct ValueRecord: Sendable {
    let name: NameTable.ID
    let source: Source
    let isDeprecated: Bool
  }

  struct DirectiveRecord: Sendable {
    let name: NameTable.ID
    let source: Source
    let arguments: Range<Int32>
    let locations: [DirectiveLocation]
    let isRepeatable: Bool
  }

  /// The documents that the schema was built from; the first is the prelude.
  var documents: [DocumentSyntax] = []
  var names = NameTable.withKnownNames()
  var types: [TypeRecord] = []
  var fields: [FieldRecord] = []
  var inputs: [InputRecord] = []
  var values: [ValueRecord] = []
  var directives: [DirectiveRecord] = []
  /// What the ranges `interfaces` and `possibleTypes` refer to; the possible types of one type are in ascending order.
  var relatedTypes: [TypeID] = []
  /// The extensions of a type, in order.
  var extensions: [TypeID: [Source]] = [:]

  /// The root types of query, mutation and subscription.
  var roots: [TypeID?] = [nil, nil, nil]
  /// The definition of the schema itself, and its extensions.
  var schemaSources: [Source] = []
  /// How many types and directives the prelude defines, before those of the schema.
  var preludeTypes = 0
  var preludeDirectives = 0

  private var typesByName: [Int32] = []
  private var directivesByName: [Int32] = []
  private var members = HashIndex()
}

// MARK: - Look-up

extension SchemaTables {
  /// What a member belongs to, for the index of members.
  private enum Owner: UInt64 {
    case fieldOfType, argumentOfField, argumentOfDirective, inputFieldOfType, valueOfType
  }

  @inline(__always)
  private static func hash(_ owner: Owner, _ number: Int, _ name: NameTable.ID) -> UInt32 {
    HashIndex.hash(owner.rawValue << 60 | UInt64(truncatingIfNeeded: number) << 32 | UInt64(name.rawValue))
  }

  func type(named name: NameTable.ID) -> TypeID? {
    Self.entry(typesByName, name).map { TypeID(rawValue: UInt32($0)) }
  }

  func directive(named name: NameTable.ID) -> Int? { Self.entry(directivesByName, name) }

  func field(_ name: NameTable.ID, of type: TypeID) -> Int? {
    find(types[Int(type.rawValue)].fields, Self.hash(.fieldOfType, Int(type.rawValue), name)) {
      fields[$0].name == name
    }
  }

  func argument(_ name: NameTable.ID, ofField field: Int) -> Int? {
    find(fields[field].arguments, Self.hash(.argumentOfField, field, name)) { inputs[$0].name == name }
  }

  func argument(_ name: NameTable.ID, ofDirective directive: Int) -> Int? {
    find(directives[directive].arguments, Self.hash(.argumentOfDirective, directive, name)) {
      inputs[$0].name == name
    }
  }

  func inputField(_ name: NameTable.ID, of type: TypeID) -> Int? {
    find(types[Int(type.rawValue)].inputFields, Self.hash(.inputFieldOfType, Int(type.rawValue), name)) {
      inputs[$0].name == name
    }
  }

  func value(_ name: NameTable.ID, of type: TypeID) -> Int? {
    find(types[Int(type.rawValue)].values, Self.hash(.valueOfType, Int(type.rawValue), name)) {
      values[$0].name == name
    }
  }

  @inline(__always)
  private func find(_ range: Range<Int32>, _ hash: UInt32, _ isNamed: (Int) -> Bool) -> Int? {
    members.find(hash) { range.contains(Int32(bitPattern: $0)) && isNamed(Int($0)) }.map(Int.init)
  }

  private static func entry(_ table: [Int32], _ name: NameTable.ID) -> Int? {
    let index = Int(name.rawValue)
    return index < table.count && table[index] >= 0 ? Int(table[index]) : nil
  }
}

// MARK: - Building

extension SchemaTables {
  /// Adds a type, whose name must be new.
  mutating func add(_ type: TypeRecord) {
    Self.setEntry(&typesByName, type.name, types.count)
    types.append(type)
  }

  /// Adds a directive, whose name must be new.
  mutating func add(_ directive: DirectiveRecord) {
    let number = directives.count
    Self.setEntry(&directivesByName, directive.name, number)
    directives.append(directive)
    for index in directive.arguments {
      insert(Int(index), Self.hash(.argumentOfDirective, number, inputs[Int(index)].name))
    }
  }

  /// Adds a field to the type that is being built.
  mutating func add(_ field: FieldRecord) {
    let number = fields.count
    fields.append(field)
    insert(number, Self.hash(.fieldOfType, Int(field.owner.rawValue), field.name))
    for index in field.arguments { insert(Int(index), Self.hash(.argumentOfField, number, inputs[Int(index)].name)) }
  }

  mutating func addInputField(_ input: InputRecord, of type: TypeID) {
    insert(inputs.count, Self.hash(.inputFieldOfType, Int(type.rawValue), input.name))
    inputs.append(input)
  }

  mutating func add(_ value: ValueRecord, of type: TypeID) {
    insert(values.count, Self.hash(.valueOfType, Int(type.rawValue), value.name))
    values.append(value)
  }

  private mutating func insert(_ number: Int, _ hash: UInt32) {
    members.insert(UInt32(truncatingIfNeeded: number), hash: hash)
  }

  private static func setEntry(_ table: inout [Int32], _ name: NameTable.ID, _ number: Int) {
    let index = Int(name.rawValue)
    if index >= table.count { table += repeatElement(-1, count: max(index + 1 - table.count, table.count)) }
    table[index] = Int32(number)
  }
}

// MARK: - Relations

extension SchemaTables {
  /// The prelude's type with the fields that selections may have without their type having them; it comes first.
  var metaFields: TypeID { TypeID(rawValue: 0) }

  /// The field that a selection selects: one of the type's own, or a meta field.
  func selectable(_ name: NameTable.ID, on type: TypeID) -> Int? {
    if let field = field(name, of: type) { return field }
    guard kind(type).isComposite, let field = self.field(name, of: metaFields) else { return nil }
    // The first is `__typename`; `__schema` and `__type` are selected on the root of queries only.
    return field == 0 || type == roots[0] ? field : nil
  }

  func node(_ source: Source) -> SyntaxNode { documents[Int(source.document)].node(source.node) }

  subscript(type: TypeID) -> TypeRecord { types[Int(type.rawValue)] }

  func kind(_ type: TypeID) -> TypeKind { types[Int(type.rawValue)].kind }

  func name(_ type: TypeID) -> String { names[types[Int(type.rawValue)].name] }

  func text(_ type: TypeRef) -> String { type.text(name(type.named)) }

  func interfaces(of type: TypeID) -> ArraySlice<TypeID> {
    let range = types[Int(type.rawValue)].interfaces
    return relatedTypes[Int(range.lowerBound)..<Int(range.upperBound)]
  }

  /// The objects that implement an interface or are members of a union, in ascending order.
  func possibleTypes(of type: TypeID) -> ArraySlice<TypeID> {
    let range = types[Int(type.rawValue)].possibleTypes
    return relatedTypes[Int(range.lowerBound)..<Int(range.upperBound)]
  }

  /// Whether an object is one of the possible types of an interface or union.
  func isPossible(_ object: TypeID, for abstract: TypeID) -> Bool {
    let possible = possibleTypes(of: abstract)
    var low = possible.startIndex
    var high = possible.endIndex
    while low < high {
      let middle = low + (high - low) / 2
      if possible[middle] < object { low = middle + 1 } else { high = middle }
    }
    return low < possible.endIndex && possible[low] == object
  }

  /// Whether every value of a type is one of another (section 3.6.1, IsSubType).
  func isSubtype(_ type: TypeRef, of other: TypeRef) -> Bool {
    type.isSubtype(of: other) { a, b in
      if a == b { return true }
      switch kind(b) {
      case .interface: return kind(a) == .object ? isPossible(a, for: b) : interfaces(of: a).contains(b)
      case .union: return kind(a) == .object && isPossible(a, for: b)
      default: return false
      }
    }
  }

  /// Whether some object is of both types (section 5.5.2.3).
  func overlap(_ a: TypeID, _ b: TypeID) -> Bool {
    if a == b { return true }
    let isAbstract = (kind(a).isAbstract, kind(b).isAbstract)
    switch isAbstract {
    case (false, false): return false
    case (true, false): return isPossible(b, for: a)
    case (false, true): return isPossible(a, for: b)
    case (true, true):
      let (first, second) = (possibleTypes(of: a), possibleTypes(of: b))
      let (few, many) = first.count < second.count ? (first, b) : (second, a)
      return few.contains { isPossible($0, for: many) }
    }
  }
}

/// What a type is.
public enum TypeKind: String, Hashable, Sendable, CaseIterable {
  /// A leaf with a value of its own form.
  case scalar = "SCALAR"
  /// A list of fields.
  case object = "OBJECT"
  /// Fields that several objects have.
  case interface = "INTERFACE"
  /// One of several objects.
  case union = "UNION"
  /// A leaf that is one of several names.
  case `enum` = "ENUM"
  /// A list of input fields.
  case inputObject = "INPUT_OBJECT"

  /// Whether arguments, variables and input fields may have this kind of type.
  public var isInput: Bool { self == .scalar || self == .enum || self == .inputObject }
  /// Whether fields may have this kind of type.
  public var isOutput: Bool { self != .inputObject }
  /// Whether a value has no selection of subfields.
  public var isLeaf: Bool { self == .scalar || self == .enum }
  /// Whether a value has a selection of subfields.
  public var isComposite: Bool { self == .object || self == .interface || self == .union }
  /// Whether a value is of one of several object types.
  public var isAbstract: Bool { self == .interface || self == .union }
}
