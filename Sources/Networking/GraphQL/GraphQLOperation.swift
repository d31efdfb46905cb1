/// The kind and the name of an operation in a GraphQL document.
public struct GraphQLOperation: Hashable, Sendable {
  /// What an operation does (GraphQL specification, section 2.3).
  public enum Kind: String, Sendable {
    /// Reads.
    case query
    /// Writes, then reads.
    case mutation
    /// Subscribes: a response for each event.
    case subscription
  }

  /// The kind of operation.
  public let kind: Kind

  /// Its name, if it has one.
  public let name: String?
}

extension GraphQLOperation {
  /// The operations of a document: its top-level definitions that are not fragments.
  static func all(in document: String) -> [GraphQLOperation] {
    var operations: [GraphQLOperation] = []
    var tokens = GraphQLTokens(document)
    var depth = 0
    var isInDefinition = false
    while let token = tokens.next() {
      switch token {
      case "{", "(", "[":
        if token == "{", depth == 0, !isInDefinition { operations.append(GraphQLOperation(kind: .query, name: nil)) }
        isInDefinition = true
        depth += 1
      case "}", ")", "]":
        depth -= 1
        if token == "}", depth == 0 { isInDefinition = false }
      default:
        guard depth == 0, !isInDefinition else { continue }
        isInDefinition = true
        if let kind = Kind(rawValue: String(token)) {
          operations.append(GraphQLOperation(kind: kind, name: tokens.nextName()))
        }
      }
    }
    return operations
  }
}
