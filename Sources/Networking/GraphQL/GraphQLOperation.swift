import JSON

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

/// The constant text of one or more GraphQL operations.
///
/// It can be made only from literals, so that input cannot get into it: input travels as variables.
///
///     static let query: GraphQLDocument = """
///       query getUser($id: ID!) { user(id: $id) { name } }
///       """
public struct GraphQLDocument: Hashable, Sendable {
  /// The text that is sent.
  public var text: String { prepared.value }

  /// The operations in the text, in order.
  public let operations: [GraphQLOperation]

  /// The text as a JSON string, escaped once for all requests.
  let prepared: PreparedString

  /// The literals that make up the text, each once.
  private let parts: [String]

  /// The operation of this name; if `nil`, the document's only operation.
  func operation(named name: String?) -> GraphQLOperation? {
    name == nil && operations.count == 1 ? operations[0] : operations.first { $0.name == name }
  }
}

extension GraphQLDocument: ExpressibleByStringLiteral {
  /// Makes a document of a literal.
  public init(stringLiteral text: StaticString) {
    self.init(["\(text)"])
  }

  private init(_ parts: [String]) {
    self.parts = parts
    let text = parts.joined(separator: "\n")
    prepared = PreparedString(text)
    operations = GraphQLOperation.all(in: text)
  }

  /// Joins a document and the fragments that it uses. A literal that is in both, such as a third fragment used by two
  /// others, is included once: servers reject duplicate names (GraphQL specification, section 5.5.1.1).
  ///
  ///     extension GraphQLDocument {
  ///       static let userFields: GraphQLDocument = "fragment userFields on User { id name }"
  ///       static let postFields: GraphQLDocument =
  ///         "fragment postFields on Post { author { ...userFields } }" + .userFields
  ///     }
  ///     static let query: GraphQLDocument = "query post($id: ID!) { post(id: $id) { ...postFields } }" + .postFields
  public static func + (document: GraphQLDocument, fragments: GraphQLDocument) -> GraphQLDocument {
    GraphQLDocument(document.parts + fragments.parts.filter { !document.parts.contains($0) })
  }
}
