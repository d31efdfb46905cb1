import JSON

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
