import GraphQLClient
import GraphQLLanguage
import GraphQLSchema
import StrictJSON
import SystemBase

/// Holds the variables that a session sends to those that its operation declares (specification, section 6.1.2).
struct VariablesCheck {
  private let schema: Schema
  private let variables: [(name: String, type: InputType, isRequired: Bool)]
  private let samples: ScalarSamples
  private let encoder: any BodyEncoder

  private var findings: [SessionCheck.Finding] = []
  /// The paths of variables and input fields that some sample sends.
  private var sent: Set<String> = []
  /// Those at which some sample has a file, for which `null` stands.
  private var files: Set<String> = []
  /// Required ones that a sample does not send.
  private var missing: [(path: String, type: String)] = []
  /// The paths of lists that have no items so far.
  private var empty: Set<String> = []

  init(schema: Schema, plan: OperationPlan, samples: ScalarSamples, encoder: any BodyEncoder) {
    self.schema = schema
    self.samples = samples
    self.encoder = encoder
    variables = plan.variables.map { variable in
      let type = InputType(variable.type, schema)
      return (variable.name.text, type, type.isNonNull && variable.defaultValue == nil)
    }
  }

  consuming func check(_ values: [some Encodable], _ report: inout SessionCheck.Report) {
    guard !values.isEmpty else {
      if !variables.isEmpty {
        add(.warning, "variables", "are not checked, since there is no sample of them")
        report.findings += findings
      }
      return
    }
    let encoded = EncodedKeys(userInfo: encoder.userInfo)
    for value in values {
      checkSample(value)
      encoded.record(value)
    }
    for (path, type) in missing {
      add(
        .error, path,
        sent.contains(path)
          ? "is \(type) and required, but a sample does not send it" : "is \(type) and required, but is never sent")
    }
    checkTypes(encoded, &report)
    for path in empty.sorted() where !sent.contains(path + "[]") {
      report.unexplored.append("\(path): has no items in any sample, so that what is in it was not checked.")
    }
    for (name, _, isRequired) in variables where !isRequired && !sent.contains("variables.\(name)") {
      if encoded.contains(where: { $0 == [name] || $0.map(\.snakeCased) == [name] }) { continue }
      add(.warning, "variables.\(name)", "is declared, but never sent")
    }
    report.findings += findings
  }

  private mutating func add(_ severity: SessionCheck.Finding.Severity, _ path: String, _ message: String) {
    let finding = SessionCheck.Finding(severity: severity, path: path, message: message)
    if !findings.contains(finding) { findings.append(finding) }
  }

  private mutating func checkSample(_ sample: some Encodable) {
    let value: JSONValue
    do {
      let (json, paths) = try GraphQLUpload.encode(sample, by: encoder)
      value = try JSONValue(json: String(decoding: json, as: UTF8.self))
      files.formUnion(paths.map(Self.path))
    } catch {
      return add(.error, "variables", "cannot be encoded: \(error)")
    }
    guard case .object(let members) = value else {
      return add(.error, "variables", "are not encoded as an object, but as \(value.kindName)")
    }
    for name in members.keys.sorted() where !variables.contains(where: { $0.name == name }) {
      add(.error, "variables.\(name)", "is sent, but there is no such variable" + near(name, variables.map(\.name)))
    }
    for (name, type, isRequired) in variables {
      check(members[name], type, isRequired: isRequired, at: "variables.\(name)")
    }
  }

  private mutating func check(_ value: JSONValue?, _ type: InputType, isRequired: Bool, at path: String) {
    guard let value else {
      if isRequired { missing.append((path, type.text)) }
      return
    }
    sent.insert(path)
    if value == .null, files.contains(path) {
      if type.named?.kind != .scalar { add(.error, path, "is \(type.text), but a file is sent") }
      return
    }
    if value == .null {
      if type.isNonNull { add(.error, path, "is \(type.text), but null is sent") }
      return
    }
    if let item = type.item {
      // One value counts as a list of it (section 3.11).
      guard case .array(let values) = value else { return check(value, item, isRequired: false, at: path) }
      if values.isEmpty { empty.insert(path) }
      for value in values { check(value, item, isRequired: false, at: path + "[]") }
      return
    }
    guard let named = type.named else { return }
    switch named.kind {
    case .inputObject: checkObject(value, named, type, at: path)
    case .enum:
      guard case .string(let name) = value else { return refuse(value, type, at: path) }
      guard let value = named.value(named: name) else {
        return add(.error, path, "is \(type.text), which has no value \(name)" + near(name, named.values.map(\.name)))
      }
      if value.isDeprecated {
        add(.warning, path, "is \(name), which is deprecated" + (value.deprecationReason.map { ": \($0)" } ?? ""))
      }
    default: if named.accepts(value) { checkForm(value, named, at: path) } else { refuse(value, type, at: path) }
    }
  }

  /// Holds a value of one of the schema's own scalars to the samples of it.
  private mutating func checkForm(_ value: JSONValue, _ scalar: NamedType, at path: String) {
    guard let known = samples.forms(of: scalar) else { return }
    let forms = Set(known.values.map(ScalarForm.init))
    let form = ScalarForm(value)
    // Texts of no form that is known may be anything, and so may JSON.
    if forms.contains(form) || forms.contains(.object) || forms.contains(.list) { return }
    if forms.contains(.text), form.isText { return }
    add(
      known.isPassed ? .error : .warning, path,
      "is \(scalar.name), such as \(known.values[0].text), but \(value.text) is sent"
        + (known.isPassed ? "" : "; pass samples of \(scalar.name) if that is right"))
  }

  /// The path of a file among the variables, as findings have it. No name of GraphQL begins with a digit.
  private static func path(of keys: String) -> String {
    keys.split(separator: ".").reduce("variables") { $1.first?.isNumber == true ? "\($0)[]" : "\($0).\($1)" }
  }

  private mutating func refuse(_ value: JSONValue, _ type: InputType, at path: String) {
    let shown = type.named?.name == "Int" && value.integerValue != nil ? "a number beyond 32 bits" : value.kindName
    add(.error, path, "is \(type.text), but \(shown) is sent")
  }

  private mutating func checkObject(_ value: JSONValue, _ named: NamedType, _ type: InputType, at path: String) {
    guard case .object(let members) = value else { return refuse(value, type, at: path) }
    for name in members.keys.sorted() where named.inputField(named: name) == nil {
      let message = "is sent, but \(named.name) has no such field" + near(name, named.inputFields.map(\.name))
      add(.error, "\(path).\(name)", message)
    }
    for field in named.inputFields {
      let fieldType = InputType(field.type)
      check(members[field.name], fieldType, isRequired: field.isRequired, at: "\(path).\(field.name)")
      if field.isDeprecated, members[field.name] != nil {
        add(.warning, "\(path).\(field.name)", "is deprecated" + (field.deprecationReason.map { ": \($0)" } ?? ""))
      }
    }
    if named.isOneOf, members.count != 1 || members.values.contains(.null) {
      add(.error, path, "takes exactly one of the fields of \(named.name), and not null, but \(members.count) are sent")
    }
  }

  /// Holds the types in Swift to the declarations, whatever the samples have set.
  private mutating func checkTypes(_ encoded: EncodedKeys, _ report: inout SessionCheck.Report) {
    let faulty = Set(findings.map(\.path) + missing.map(\.path))
    for entry in encoded.entries {
      var scope = variables.map { (name: $0.name, type: $0.type, isRequired: $0.isRequired) }
      var text = "variables"
      var owner: String?
      for (depth, key) in entry.path.enumerated() {
        let found = scope.first { $0.name == key } ?? scope.first { $0.name == key.snakeCased }
        text += ".\(found?.name ?? key)"
        guard let found else {
          let what = owner.map { "\($0) has no such field" } ?? "there is no such variable"
          if entry.isAbsent, owner != nil || depth == 0 {
            add(.error, text, "is sent if it is not nil, but \(what)" + near(key, scope.map(\.name)))
          }
          break
        }
        if depth < entry.path.count - 1 {
          var inner = found.type
          while let item = inner.item {
            inner = item
            text += "[]"
          }
          owner = inner.named?.kind == .inputObject ? inner.named?.name : nil
          scope = (inner.named?.inputFields ?? []).map { ($0.name, InputType($0.type), $0.isRequired) }
          continue
        }
        check(entry, found.type, isRequired: found.isRequired, at: text, faulty, &report)
      }
    }
  }

  private mutating func check(
    _ entry: EncodedKeys.Entry, _ type: InputType, isRequired: Bool, at path: String, _ faulty: Set<String>,
    _ report: inout SessionCheck.Report
  ) {
    if !type.accepts(entry.type), !faulty.contains(path), !faulty.contains(path + "[]") {
      add(
        .error, path,
        "is \(type.text), but \(entry.type) is sent" + (entry.isOptional ? " if it is not nil" : ""))
    } else if entry.isOptional, isRequired, !faulty.contains(path) {
      add(.error, path, "is \(type.text) and required, but is not sent if it is nil: it is \(entry.type)?")
    } else if entry.isAbsent, !sent.contains(path), type.innermost.named?.kind == .inputObject {
      report.unexplored.append("\(path): is nil in every sample, so that what is in it was not checked.")
    }
  }

  private func near(_ name: String, _ names: [String]) -> String {
    Suggestions.nearest(to: name, among: names).first.map { "; did you mean \($0)?" } ?? ""
  }
}

/// The type of a variable or of an input field.
private struct InputType {
  let text: String
  let isNonNull: Bool
  /// The named type; `nil` if it is a list, or if the schema does not have it.
  let named: NamedType?
  private let items: [InputType]

  /// The type of the items of a list.
  var item: InputType? { items.first }

  init(_ type: TypeSyntax, _ schema: Schema) {
    text = type.printed()
    isNonNull = type.isNonNull
    switch type.kind {
    case .named(let name): (named, items) = (schema.type(named: name.text), [])
    case .list(let item): (named, items) = (nil, [InputType(item, schema)])
    }
  }

  init(_ type: TypeReference) {
    text = type.description
    isNonNull = type.isNonNull
    named = type.isList ? nil : type.named
    items = type.item.map { [InputType($0)] } ?? []
  }

  /// The type without the lists around it.
  var innermost: InputType {
    var inner = self
    while let item = inner.item { inner = item }
    return inner
  }

  /// Whether values of a Swift type may be sent; what is not known of a type counts as so.
  func accepts(_ type: Any.Type) -> Bool {
    var (place, type) = (self, type)
    while true {
      if let optional = type as? any OptionalType.Type {
        // A null in a list is no item that is non-null.
        if place.isNonNull { return false }
        type = optional.wrapped
      } else if let list = type as? any ListType.Type {
        guard let item = place.item else { return place.named.map { $0.kind == .scalar && !$0.isBuiltIn } ?? true }
        (place, type) = (item, list.element)
      } else {
        break
      }
    }
    guard let named = place.innermost.named, let allowed = Self.scalars[ObjectIdentifier(type)] else { return true }
    switch named.kind {
    case .inputObject: return false
    case .enum: return allowed.contains("String")
    default: return !named.isBuiltIn || allowed.contains(named.name)
    }
  }

  private static let scalars: [ObjectIdentifier: Set<String>] = {
    var scalars: [ObjectIdentifier: Set<String>] = [
      ObjectIdentifier(String.self): ["String", "ID"], ObjectIdentifier(Bool.self): ["Boolean"],
      ObjectIdentifier(Double.self): ["Float"], ObjectIdentifier(Float.self): ["Float"],
    ]
    let integers: [Any.Type] = [
      Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self, UInt32.self,
      UInt64.self,
    ]
    for type in integers { scalars[ObjectIdentifier(type)] = ["Int", "Float", "ID"] }
    return scalars
  }()
}

extension NamedType {
  /// Whether a scalar takes a value; the schema's own take any.
  fileprivate func accepts(_ value: JSONValue) -> Bool {
    switch name {
    case "String": value.stringValue != nil
    case "ID": value.stringValue != nil || value.integerValue != nil
    case "Boolean": value.boolValue != nil
    case "Float": value.numberValue != nil
    case "Int": if case .integer(let number) = value { Int32(exactly: number) != nil } else { false }
    default: true
    }
  }
}

/// What a value of a scalar looks like, as far as that can be told.
private enum ScalarForm: Hashable {
  case number, boolean, list, object, null
  case text, dateTime, date, time, url, uuid

  var isText: Bool {
    switch self {
    case .number, .boolean, .list, .object, .null: false
    default: true
    }
  }

  init(_ value: JSONValue) {
    switch value {
    case .null: self = .null
    case .bool: self = .boolean
    case .integer, .number, .literal: self = .number
    case .array: self = .list
    case .object: self = .object
    case .string(let text): self = Self.form(of: text)
    }
  }

  private static func form(of text: String) -> ScalarForm {
    let shape = String(text.map { $0.isASCII && $0.isNumber ? "0" : $0 })
    if shape == "0000-00-00" { return .date }
    if shape.hasPrefix("0000-00-00T00:00") || shape.hasPrefix("0000-00-00 00:00") { return .dateTime }
    if shape.hasPrefix("00:00") { return .time }
    if UUID(uuidString: text) != nil { return .uuid }
    return text.contains("://") ? .url : .text
  }
}

extension JSONValue {
  /// What it is, in words.
  fileprivate var kindName: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .integer: "an integer"
    case .number: "a number with a fraction"
    case .literal(let number): number.isPlainInteger ? "an integer" : "a number with a fraction"
    case .string: "a string"
    case .array: "a list"
    case .object: "an object"
    }
  }
}

extension String {
  /// A name in `camelCase` as Foundation converts it to `snake_case`.
  fileprivate var snakeCased: String {
    var result = ""
    for character in self {
      if character.isUppercase, !result.isEmpty { result += "_" }
      result += character.lowercased()
    }
    return result
  }
}
