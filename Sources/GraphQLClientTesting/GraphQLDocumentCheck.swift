import GraphQLLanguage
import StrictJSON

/// What a server would refuse in a request without a look at its schema (GraphQL specification, sections 5.2, 5.5, 5.8
/// and 6.1.2).
struct GraphQLDocumentCheck {
  private let operations: [OperationSyntax]
  private let fragments: FragmentTable

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
    fragments = FragmentTable(document)
  }

  private func problems(_ operation: String?, _ variables: JSONValue?) -> [String] {
    var problems = repeated(names(of: fragments.all.indices)).map { "has two fragments '\($0)'" }
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
    let reached = Set(operations.flatMap { fragments.reached(from: $0.node) })
    let spreads = operations.flatMap { fragments.spreads(in: $0.node) } + reached.flatMap { fragments.all[$0].spreads }
    let unknown = spreads.filter { $0.fragment == nil }.map(\.syntax.name.text)
    let unused = Set(names(of: fragments.all.indices)).subtracting(names(of: reached))
    let endless = fragments.all.indices.filter { fragments.reached(from: fragments.all[$0].syntax.node).contains($0) }
    return Set(unknown).sorted().map { "uses the fragment '\($0)', which the document lacks" }
      + unused.sorted().map { "has the fragment '\($0)', which it does not use" }
      + names(of: endless).sorted().map { "has the fragment '\($0)', which contains itself" }
  }

  private func names(of numbers: some Sequence<Int>) -> [String] { numbers.map { fragments.all[$0].syntax.name.text } }

  private func variableProblems(_ operation: OperationSyntax) -> [String] {
    let declared = Set(operation.variables.map(\.name.text))
    let nodes = [operation.node] + fragments.reached(from: operation.node).map { fragments.all[$0].syntax.node }
    let used = Set(nodes.flatMap(variables))
    return used.subtracting(declared).sorted().map { "uses the variable '$\($0)', which it does not declare" }
      + declared.subtracting(used).sorted().map { "declares the variable '$\($0)', which it does not use" }
  }

  private func variables(in definition: SyntaxNode) -> [String] {
    definition.descendants(.variable).compactMap { node in
      guard case .variable(let name)? = ValueSyntax(node)?.kind else { return nil }
      return name.text
    }
  }

  private func repeated(_ names: [String]) -> [String] {
    let counts = names.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
    return counts.filter { $0.value > 1 }.keys.sorted()
  }
}
