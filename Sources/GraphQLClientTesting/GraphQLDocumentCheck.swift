import GraphQLLanguage
import StrictJSON

/// What a server would refuse in a request without a look at its schema (GraphQL specification, sections 5.2, 5.5, 5.8
/// and 6.1.2).
struct GraphQLDocumentCheck {
  private let operations: [OperationSyntax]
  private let fragments: [FragmentSyntax]
  /// What each fragment uses, by its name.
  private let uses: [String: Uses]

  /// The problems of a request; each reads on from the name of an operation.
  /// - Parameters:
  ///   - document: The request's document.
  ///   - operation: Which of its operations is run; `nil` for the only one.
  ///   - variables: The request's variables.
  static func problems(in document: String, operation: String?, variables: JSONValue?) -> [String] {
    do {
      return GraphQLDocumentCheck(try DocumentSyntax(parsing: document)).problems(operation, variables)
    } catch {
      return ["is not GraphQL: \(error)"]
    }
  }

  private init(_ document: DocumentSyntax) {
    operations = document.operations
    fragments = document.fragments
    uses = Dictionary(fragments.map { ($0.name.text, Uses(in: $0.node)) }, uniquingKeysWith: { first, _ in first })
  }

  /// The variables and the fragments whose names stand in a definition.
  private struct Uses {
    private(set) var variables: Set<String> = []
    private(set) var fragments: Set<String> = []

    init(in node: SyntaxNode) {
      var open = [node]
      while let node = open.popLast() {
        if let spread = FragmentSpreadSyntax(node) { fragments.insert(spread.name.text) }
        if case .variable(let name)? = ValueSyntax(node)?.kind { variables.insert(name.text) }
        open += node.children
      }
    }
  }

  private func problems(_ operation: String?, _ variables: JSONValue?) -> [String] {
    var problems = repeated(fragments.map(\.name.text)).map { "has two fragments '\($0)'" }
    problems += repeated(operations.map { $0.name?.text ?? "" }).map { "has two operations '\($0)'" }
    problems += fragmentProblems + operations.flatMap(variableProblems)
    let sent = operations.first { operation == nil || $0.name?.text == operation }
    for variable in sent?.variables.map({ $0 }) ?? [] where variable.type.isNonNull && variable.defaultValue == nil {
      let name = variable.name.text
      guard (variables?[name] ?? .null) == .null else { continue }
      problems.append("was sent without the variable '$\(name)', which must have a value")
    }
    return problems
  }

  private var fragmentProblems: [String] {
    let used = operations.reduce(into: Set<String>()) { $0.formUnion(fragmentNames(from: Uses(in: $1.node))) }
    let unknown = used.subtracting(uses.keys).sorted()
    let unused = Set(uses.keys).subtracting(used).sorted()
    let endless = uses.filter { fragmentNames(from: $0.value).contains($0.key) }.keys.sorted()
    return unknown.map { "uses the fragment '\($0)', which the document lacks" }
      + unused.map { "has the fragment '\($0)', which it does not use" }
      + endless.map { "has the fragment '\($0)', which contains itself" }
  }

  private func variableProblems(_ operation: OperationSyntax) -> [String] {
    let declared = Set(operation.variables.map(\.name.text))
    let own = Uses(in: operation.node)
    let used = fragmentNames(from: own).reduce(own.variables) { $0.union(uses[$1]?.variables ?? []) }
    return used.subtracting(declared).sorted().map { "uses the variable '$\($0)', which it does not declare" }
      + declared.subtracting(used).sorted().map { "declares the variable '$\($0)', which it does not use" }
  }

  /// The names of the fragments that a definition uses, also by way of others.
  private func fragmentNames(from definition: Uses) -> Set<String> {
    var found: Set<String> = []
    var next = Array(definition.fragments)
    while let name = next.popLast() {
      if found.insert(name).inserted { next += uses[name]?.fragments ?? [] }
    }
    return found
  }

  private func repeated(_ names: [String]) -> [String] {
    let counts = names.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
    return counts.filter { $0.value > 1 }.keys.sorted()
  }
}
