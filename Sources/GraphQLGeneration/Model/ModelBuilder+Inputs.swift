import GraphQLLanguage
import GraphQLSchema

/// What is sent: variables, input objects and enums, as far as operations reach them.
extension ModelBuilder {
  /// The variables of an operation; `nil` if it has none.
  mutating func variables(of operation: OperationSyntax) -> InputModel? {
    guard !operation.variables.isEmpty else { return nil }
    var taken = Self.namesInSession
    if configuration.equality == .hashable { taken.insert("hashValue") }
    let hasUploads = operation.variables.contains { inputGraph.uploads.contains($0.type.name.text) }
    if hasUploads { taken.insert("CodingKeys") }
    var members = NameScope(taken)
    var model = InputModel(
      name: "Variables", documentation: "The variables of the operation.", members: [], isOneOf: false,
      hasUploads: hasUploads)
    for variable in operation.variables {
      guard let type = schema.type(named: variable.type.name.text) else { continue }
      let leaf = inputLeaf(type, at: variable.location)
      let (swiftType, defaultValue, isLeftOut) = Self.inputType(
        Self.shape(variable.type, leaf), hasDefault: variable.defaultValue != nil)
      model.members.append(
        InputModel.Member(
          name: members.take(names.member(variable.name.text)), key: variable.name.text, type: swiftType,
          defaultValue: defaultValue, isLeftOut: isLeftOut, documentation: variable.description?.value,
          deprecation: nil))
    }
    return model
  }

  /// The names that the code of a session uses where its variables are parameters.
  private static let namesInSession: Set = [
    "Session", "Variables", "errorPolicy", "idempotencyKey", "onProgress", "sessionHandler", "variables",
  ]

  private static func shape(_ type: TypeSyntax, _ leaf: Leaf) -> ValueShape {
    let inner: ValueShape
    switch type.kind {
    case .named: inner = .leaf(leaf)
    case .list(let item): inner = .list(shape(item, leaf))
    }
    return type.isNonNull ? inner : .null(inner)
  }

  /// The type of a member that is sent. One that may be null may be absent, too; one that may only be absent, since there is a
  /// default, is an optional.
  private static func inputType(
    _ shape: ValueShape, hasDefault: Bool
  ) -> (type: String, defaultValue: String?, isLeftOut: Bool) {
    if case .null(let value) = shape { return ("GraphQLNullable<\(value.type)>", ".absent", false) }
    return hasDefault ? (shape.type + "?", "nil", true) : (shape.type, nil, false)
  }

  /// What a type is in Swift where it is sent; what it needs is generated, too.
  private mutating func inputLeaf(_ type: NamedType, at location: SourceLocation) -> Leaf {
    switch type.kind {
    case .enum:
      sentEnums.insert(type.name)
      return Leaf(typeNames[type.name] ?? type.name)
    case .inputObject:
      pendingInputs.append(type)
      inputLocations[type.name] = inputLocations[type.name] ?? location
      return Leaf(typeNames[type.name] ?? type.name)
    default: return scalar(type, at: location)
    }
  }

  /// The input objects that variables reach, each once.
  mutating func buildInputs() {
    var built: Set<String> = []
    while let type = pendingInputs.popLast() {
      guard built.insert(type.name).inserted else { continue }
      model.inputs.append(input(type))
    }
    model.inputs.sort { $0.name < $1.name }
  }

  private mutating func input(_ type: NamedType) -> InputModel {
    var taken: Set<String> = configuration.equality == .hashable ? ["hashValue"] : []
    let hasUploads = inputGraph.uploads.contains(type.name)
    if hasUploads { taken.insert("CodingKeys") }
    if !type.isOneOf, type.inputFields.contains(where: { inputGraph.isCircular($0, of: type) }) {
      taken.insert("Indirect")
    }
    var members = NameScope(taken)
    modules = []
    var model = InputModel(
      name: typeNames[type.name] ?? type.name, documentation: type.documentation, members: [], isOneOf: type.isOneOf,
      hasUploads: hasUploads)
    let location = inputLocations[type.name] ?? SourceLocation(line: 1, column: 1)
    let includesDeprecated =
      configuration.includesDeprecated || type.isOneOf && type.inputFields.allSatisfy(\.isDeprecated)
    if type.isOneOf, type.inputFields.isEmpty { problems.append(withoutCases(type)) }
    for field in type.inputFields {
      if field.isDeprecated, !includesDeprecated, !field.isRequired { continue }
      let leaf = inputLeaf(field.type.named, at: location)
      let shape = ValueShape(type.isOneOf ? field.type.nonNull : field.type, leaf)
      let (swiftType, defaultValue, isLeftOut) = Self.inputType(shape, hasDefault: field.defaultValue != nil)
      let isIndirect = inputGraph.isCircular(field, of: type)
      if isIndirect { model.isRecursive = true }
      model.members.append(
        InputModel.Member(
          name: type.isOneOf ? members.take(names.enumCase(field.name)) : members.take(names.member(field.name)),
          key: field.name, type: swiftType, defaultValue: defaultValue, isLeftOut: isLeftOut, isIndirect: isIndirect,
          documentation: field.documentation, deprecation: field.deprecationReason))
    }
    for index in model.members.indices {
      let member = model.members[index]
      guard member.deprecation != nil || member.isIndirect, !model.isOneOf else { continue }
      model.members[index].storedName = members.take("_" + member.name)
    }
    model.modules = modules
    return model
  }

  private func withoutCases(_ type: NamedType) -> GenerationProblem {
    GenerationProblem(
      "\(type.name) has nothing in it, of which an enum in Swift could be made: use the schema that the server has",
      in: "schema")
  }

  /// The enums that are selected or sent.
  mutating func buildEnums() {
    for name in sentEnums.union(receivedEnums).sorted() {
      guard let type = schema.type(named: name) else { continue }
      // Swift has no enum of strings without cases.
      let includesDeprecated = configuration.includesDeprecated || type.values.allSatisfy(\.isDeprecated)
      let values = type.values.filter { includesDeprecated || !$0.isDeprecated }
      if values.isEmpty { problems.append(withoutCases(type)) }
      var cases = NameScope(values.contains(where: \.isDeprecated) ? ["RawValue", "allCases"] : ["RawValue"])
      var model = EnumModel(
        name: typeNames[name] ?? name, documentation: type.documentation, isInput: sentEnums.contains(name))
      for value in values {
        model.cases.append(
          EnumModel.Case(
            name: cases.take(names.enumCase(value.name)), value: value.name, documentation: value.documentation,
            deprecation: value.deprecationReason))
      }
      self.model.enums.append(model)
    }
  }
}
