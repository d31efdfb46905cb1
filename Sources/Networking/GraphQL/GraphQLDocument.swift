import JSON

/// The constant text of one or more GraphQL operations.
///
/// It is made from a literal alone, so that input cannot get into it: input travels as variables.
///
///     static let query: GraphQLDocument = """
///       query getUser($id: ID!) { user(id: $id) { name } }
///       """
public struct GraphQLDocument: Hashable, Sendable {
  /// The text as it is sent.
  public var text: String { prepared.value }

  /// The operations in the text, in order.
  public let operations: [GraphQLOperation]

  /// The text for bodies, escaped once for all the requests.
  let prepared: PreparedString

  /// The operation with a name; the only one where the name is `nil`.
  func operation(named name: String?) -> GraphQLOperation? {
    name == nil && operations.count == 1 ? operations[0] : operations.first { $0.name == name }
  }
}

extension GraphQLDocument: ExpressibleByStringLiteral {
  /// Takes the text.
  public init(stringLiteral text: StaticString) {
    self.init("\(text)")
  }

  private init(_ text: String) {
    prepared = PreparedString(text)
    operations = GraphQLOperation.all(in: text)
  }

  /// A document and the fragments that it spreads.
  public static func + (document: GraphQLDocument, fragments: GraphQLDocument) -> GraphQLDocument {
    GraphQLDocument(document.text + "\n" + fragments.text)
  }
}
