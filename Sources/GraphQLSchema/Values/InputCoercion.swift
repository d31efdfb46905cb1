import GraphQLLanguage
import StrictJSON

/// Coerces what is given for an input type: JSON, as the values of variables come, or a literal of a document with the
/// variables in it (section 3, "Input Coercion", and 6.4.1).
///
/// The lists and objects that are not complete stand in an array, so that the stack grows neither with the depth of a
/// value nor with the defaults that bring others with them.
struct InputCoercion {
  /// What is given.
  enum Source {
    case json(JSONValue)
    case literal(SyntaxNode)
  }

  /// How deep lists and objects may be nested: as deep as JSON may be.
  static let deepest = 128
  /// How many values the defaults of input fields may add. Defaults that bring defaults with them could add any number.
  static let mostDefaults = 10_000
  /// How many faults are reported.
  static let mostFaults = 100

  private let schema: Schema
  private let tables: SchemaTables
  /// The values of the variables that have one, coerced.
  private let variables: [String: JSONValue]

  /// What is wrong, each with the part of the value that it concerns: `.filter.tags[0]`.
  private(set) var faults: [(path: String, message: String)] = []

  private var frames: [Frame] = []
  private var defaults = 0

  /// A list or object whose parts are being coerced.
  private struct Frame {
    /// The input object; `nil` for a list, and for a value of a scalar.
    let type: TypeID?
    let isList: Bool
    /// The parts that are still to come, the next one last.
    var rest: [Part]
    var current = Place.whole
    var elements: [JSONValue] = []
    var members: [String: JSONValue] = [:]
    var isFaulty = false

    /// Adds the current part; `nil` if it does not fit.
    mutating func add(_ value: JSONValue?) {
      guard let value else {
        isFaulty = true
        return
      }
      switch current {
      case .member(let name): members[name] = value
      case .whole, .item: elements.append(value)
      }
    }

    init(type: TypeID? = nil, isList: Bool, rest: [Part]) {
      self.type = type
      self.isList = isList
      self.rest = rest
    }
  }

  private struct Part {
    let place: Place
    let source: Source
    /// Its type; `nil` in a value of a scalar, whose form the schema does not tell.
    let type: TypeRef?
  }

  private enum Place {
    /// The value itself, which stands for a list of it.
    case whole
    case item(Int)
    case member(String)
  }

  /// What a value consists of.
  private enum Shape {
    case null
    case leaf
    case list([Source])
    case object([(name: String, source: Source)])
  }

  private enum Begun {
    case value(JSONValue)
    case parts(Frame)
    case fault
  }

  init(_ schema: Schema, variables: [String: JSONValue] = [:]) {
    self.schema = schema
    tables = schema.tables
    self.variables = variables
  }

  /// The value as the type has it: one value in a list of it where that is expected, defaults of input fields filled in,
  /// ids as strings. `nil` if it does not fit.
  mutating func coerce(_ source: Source, _ type: TypeRef) -> JSONValue? {
    frames = []
    var next = Part(place: .whole, source: source, type: type)
    while true {
      var isComplete = true
      var value: JSONValue?
      switch begin(next.source, next.type) {
      case .value(let begun): value = begun
      case .fault: break
      case .parts(let frame):
        frames.append(frame)
        isComplete = false
      }
      while let last = frames.indices.last {
        if isComplete { frames[last].add(value) }
        isComplete = false
        if faults.count >= Self.mostFaults { return nil }
        if let part = frames[last].rest.popLast() {
          frames[last].current = part.place
          next = part
          break
        }
        value = finish(frames[last])
        frames.removeLast()
        isComplete = true
      }
      if isComplete { return value }
    }
  }

  /// The default of an argument or input field.
  mutating func defaultValue(of input: SchemaTables.InputRecord) -> JSONValue? {
    defaultLiteral(of: input).flatMap { coerce($0, input.type) }
  }

  private func defaultLiteral(of input: SchemaTables.InputRecord) -> Source? {
    InputValueDefinitionSyntax(tables.node(input.source))?.defaultValue.map { .literal($0.node) }
  }

  private func variable(_ node: SyntaxNode) -> JSONValue? {
    guard case .variable(let name)? = ValueSyntax(node)?.kind else { return nil }
    return variables[name.text]
  }

  /// Whether it is a variable without a value, which counts as not given.
  private func isMissing(_ source: Source) -> Bool {
    guard case .literal(let node) = source, node.kind == .variable else { return false }
    return variable(node) == nil
  }

  private func shape(of source: Source) -> Shape {
    switch source {
    case .json(.null): .null
    case .json(.array(let elements)): .list(elements.map { .json($0) })
    case .json(.object(let members)):
      .object(members.sorted { $0.key < $1.key }.map { ($0.key, .json($0.value)) })
    case .json: .leaf
    case .literal(let node):
      switch node.kind {
      case .null: .null
      case .list: .list(node.children.map { .literal($0) })
      case .object:
        .object(node.children.compactMap { ObjectFieldSyntax($0) }.map { ($0.name.text, .literal($0.value.node)) })
      default: .leaf
      }
    }
  }

  private mutating func fault(_ message: String) -> Begun {
    if faults.count < Self.mostFaults {
      let path = frames.map { frame in
        switch frame.current {
        case .whole: ""
        case .item(let index): "[\(index)]"
        case .member(let name): ".\(name)"
        }
      }
      faults.append((path.joined(), message))
    }
    return .fault
  }
}

// MARK: - Beginning and finishing

extension InputCoercion {
  private mutating func begin(_ source: Source, _ type: TypeRef?) -> Begun {
    if case .literal(let node) = source, node.kind == .variable {
      // It was coerced for its own type, which fits here, but for null.
      let value = variable(node) ?? .null
      if value == .null, let type, type.isNonNull { return nullFault(type) }
      return .value(value)
    }
    let shape = shape(of: source)
    guard let type else { return untyped(source, shape) }
    if case .null = shape { return type.isNonNull ? nullFault(type) : .value(.null) }
    if type.isList {
      guard case .list(let elements) = shape else {
        return nested(Frame(isList: true, rest: [Part(place: .whole, source: source, type: type.item)]))
      }
      return nested(Frame(isList: true, rest: parts(elements, type.item)))
    }
    let record = tables[type.named]
    switch record.kind {
    case .inputObject:
      guard case .object(let members) = shape else {
        return fault("must be an object, as \(tables.name(type.named)) is one")
      }
      return begin(members, type.named)
    case .enum: return enumValue(source, type.named)
    default:
      switch source {
      case .json(let value):
        if let value = BuiltInScalar.input(value, as: record.name) { return .value(value) }
      case .literal(let node):
        guard BuiltInScalar.isBuiltIn(record.name) else { return untyped(source, shape) }
        if let value = BuiltInScalar.input(node, as: record.name) { return .value(value) }
      }
      return fault("does not fit its type \(tables.name(type.named))")
    }
  }

  private mutating func nullFault(_ type: TypeRef) -> Begun {
    fault("cannot be null, as its type is \(tables.text(type))")
  }

  private mutating func nested(_ frame: Frame) -> Begun {
    frames.count < Self.deepest ? .parts(frame) : fault("is nested deeper than \(Self.deepest) levels")
  }

  private func parts(_ elements: [Source], _ type: TypeRef?) -> [Part] {
    elements.enumerated().reversed().map { Part(place: .item($0), source: $1, type: type) }
  }

  /// A value whose type says nothing about its form.
  private mutating func untyped(_ source: Source, _ shape: Shape) -> Begun {
    if case .json(let value) = source { return .value(value) }
    switch shape {
    case .null: return .value(.null)
    case .list(let elements): return nested(Frame(isList: true, rest: parts(elements, nil)))
    case .object(let members):
      let parts = members.reversed().map { Part(place: .member($0.name), source: $0.source, type: nil) }
      return nested(Frame(isList: false, rest: parts))
    case .leaf:
      guard case .literal(let node) = source else { return .value(.null) }
      return .value(BuiltInScalar.untyped(node))
    }
  }

  private mutating func enumValue(_ source: Source, _ type: TypeID) -> Begun {
    let name: String? =
      switch source {
      case .json(let value): value.stringValue
      case .literal(let node): node.kind == .enumValue ? node.text : nil
      }
    guard let name else { return fault("must be the name of a value of \(tables.name(type))") }
    if tables.value(tables.names.find(name), of: type) != nil { return .value(.string(name)) }
    return fault(
      "is a value that \(tables.name(type)) does not have."
        + Suggestions.question(Suggestions.nearest(to: name, among: NamedType(schema, type).values.map(\.name))))
  }

  private mutating func begin(_ members: [(name: String, source: Source)], _ type: TypeID) -> Begun {
    let count = faults.count
    let name = tables.name(type)
    var given: [String: Source] = [:]
    for member in members where faults.count < Self.mostFaults && !isMissing(member.source) {
      guard tables.inputField(tables.names.find(member.name), of: type) != nil else {
        let fields = NamedType(schema, type).inputFields.map(\.name)
        _ = fault(
          "has \"\(member.name)\", which \(name) does not have."
            + Suggestions.question(Suggestions.nearest(to: member.name, among: fields)))
        continue
      }
      given[member.name] = member.source
    }
    var parts: [Part] = []
    for index in tables[type].inputFields {
      let field = tables.inputs[Int(index)]
      let fieldName = tables.names[field.name]
      if let source = given[fieldName] {
        parts.append(Part(place: .member(fieldName), source: source, type: field.type))
      } else if field.hasDefault, let source = defaultLiteral(of: field) {
        defaults += 1
        parts.append(Part(place: .member(fieldName), source: source, type: field.type))
      } else if field.type.isNonNull {
        _ = fault("lacks \"\(fieldName)\" of type \(tables.text(field.type))")
      }
    }
    if defaults > Self.mostDefaults { return fault("brings more than \(Self.mostDefaults) values by defaults") }
    if tables[type].isOneOf {
      let isNull = given.values.contains { if case .null = shape(of: $0) { true } else { false } }
      if given.count != 1 || isNull {
        _ = fault("must have exactly one field, which is not null, as its type \(name) demands")
      }
    }
    var frame = Frame(type: type, isList: false, rest: parts.reversed())
    frame.isFaulty = faults.count > count
    return nested(frame)
  }

  private mutating func finish(_ frame: Frame) -> JSONValue? {
    if frame.isFaulty { return nil }
    if frame.isList { return .array(frame.elements) }
    // A variable that is the only field of its object may be null.
    if let type = frame.type, tables[type].isOneOf, frame.members.values.first == .null {
      frames[frames.count - 1].current = .whole
      _ = fault("must have exactly one field, which is not null, as its type \(tables.name(type)) demands")
      return nil
    }
    return .object(frame.members)
  }
}
