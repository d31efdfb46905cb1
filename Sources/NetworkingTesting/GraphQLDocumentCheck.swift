import JSON

/// What a server would refuse in a request without a look at its schema (GraphQL specification, sections 5.2, 5.5, 5.8
/// and 6.1.2).
struct GraphQLDocumentCheck {
  private let definitions: [GraphQLDefinition]
  private let fragments: [String: GraphQLDefinition]

  /// The problems of a request; each reads on from the name of an operation.
  /// - Parameters:
  ///   - document: The request's document.
  ///   - operation: Which of its operations is run; `nil` for the only one.
  ///   - variables: The request's variables.
  static func problems(in document: String, operation: String?, variables: JSONValue?) -> [String] {
    guard let definitions = GraphQLDefinition.all(in: document) else { return ["has brackets that do not match"] }
    return GraphQLDocumentCheck(definitions).problems(operation: operation, variables: variables)
  }

  private init(_ definitions: [GraphQLDefinition]) {
    self.definitions = definitions
    let named = definitions.filter(\.isFragment).map { ($0.name ?? "", $0) }
    fragments = Dictionary(named, uniquingKeysWith: { first, _ in first })
  }

  private func problems(operation: String?, variables: JSONValue?) -> [String] {
    let operations = definitions.filter { !$0.isFragment }
    var problems = repeated(definitions.filter(\.isFragment)).map { "has two fragments '\($0)'" }
    problems += repeated(operations).map { "has two operations '\($0)'" }
    problems += fragmentProblems(operations)
    problems += operations.flatMap(variableProblems)
    let sent = operations.first { operation == nil || $0.name == operation }
    for variable in sent?.declared ?? [] where variable.isRequired && (variables?[variable.name] ?? .null) == .null {
      problems.append("was sent without the variable '$\(variable.name)', which must have a value")
    }
    return problems
  }

  private func fragmentProblems(_ operations: [GraphQLDefinition]) -> [String] {
    let used = operations.reduce(into: Set<String>()) { $0.formUnion(fragments(usedBy: $1)) }
    let unknown = used.subtracting(fragments.keys).sorted()
    let unused = Set(fragments.keys).subtracting(used).sorted()
    let endless = fragments.keys.filter { fragments(usedBy: fragments[$0]).contains($0) }.sorted()
    return unknown.map { "uses the fragment '\($0)', which the document lacks" }
      + unused.map { "has the fragment '\($0)', which it does not use" }
      + endless.map { "has the fragment '\($0)', which contains itself" }
  }

  private func variableProblems(_ operation: GraphQLDefinition) -> [String] {
    let declared = Set(operation.declared.map(\.name))
    let used = fragments(usedBy: operation).reduce(operation.usedVariables) {
      $0.union(fragments[$1]?.usedVariables ?? [])
    }
    return used.subtracting(declared).sorted().map { "uses the variable '$\($0)', which it does not declare" }
      + declared.subtracting(used).sorted().map { "declares the variable '$\($0)', which it does not use" }
  }

  /// The names of the fragments that a definition uses, also by way of others.
  private func fragments(usedBy definition: GraphQLDefinition?) -> Set<String> {
    var found: Set<String> = []
    var next = Array(definition?.usedFragments ?? [])
    while let name = next.popLast() {
      if found.insert(name).inserted { next += fragments[name]?.usedFragments ?? [] }
    }
    return found
  }

  private func repeated(_ definitions: [GraphQLDefinition]) -> [String] {
    let counts = definitions.reduce(into: [String: Int]()) { $0[$1.name ?? "", default: 0] += 1 }
    return counts.filter { $0.value > 1 }.keys.sorted()
  }
}
