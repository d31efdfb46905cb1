import GraphQLLanguage
import HTTPClientCore
import StrictJSON
import SystemBase

/// The kind and the name of an operation in a GraphQL document.
public struct GraphQLOperation: Hashable, Sendable, CustomStringConvertible {
  /// What an operation does (GraphQL specification, section 2.3).
  public enum Kind: String, Sendable {
    /// Reads.
    case query
    /// Writes, then reads.
    case mutation
    /// Subscribes: a response for each event.
    case subscription

    fileprivate init(_ kind: OperationSyntax.Kind) {
      self =
        switch kind {
        case .query: .query
        case .mutation: .mutation
        case .subscription: .subscription
        }
    }

    /// The same, as a request carries it.
    var onRequests: HTTPRequest.OperationType {
      switch self {
      case .query: .query
      case .mutation: .mutation
      case .subscription: .subscription
      }
    }
  }

  /// The kind of operation.
  public let kind: Kind

  /// Its name, if it has one.
  public let name: String?

  /// The kind and the name, such as `query getUser`.
  public var description: String { kind.rawValue + (name.map { " \($0)" } ?? "") }
}

/// The constant text of one or more GraphQL operations.
///
/// It can be made only from literals, so that input cannot get into it: input travels as variables.
///
///     static let query: GraphQLDocument = """
///       query getUser($id: ID!) { user(id: $id) { name } }
///       """
public struct GraphQLDocument: Hashable, Sendable, CustomStringConvertible {
  /// The text that is sent.
  public var text: String { prepared.value }

  /// The text.
  public var description: String { text }

  /// The name of the first operation, if it has one.
  var name: String? { contents.name }

  /// The operations in the text, in order; none if the text is not GraphQL, which the error of a request says.
  public var operations: [GraphQLOperation] { contents.operations }

  /// The text as a JSON string, escaped once for all requests.
  var prepared: PreparedString { contents.prepared }

  /// The lower-case hexadecimal SHA-256 of the text, by which a server can know it.
  public var sha256: String { contents.sha256 }

  /// The extensions of a request, as JSON, that hold the hash and nothing else.
  var hashExtensions: String { contents.hashExtensions }

  /// Where a request copies the document, it copies a reference.
  private let contents: Contents

  private final class Contents: Sendable {
    let operations: [GraphQLOperation]
    let name: String?
    let prepared: PreparedString
    let sha256: String
    let hashExtensions: String
    /// Where and why the text is not GraphQL.
    let syntaxError: GraphQLSyntaxError?
    /// The plans of the operations that have `@defer` or `@stream`, by the operations' numbers.
    let incrementalPlans: [Int: IncrementalPlan]
    /// The literals that make up the text, each once.
    let parts: [String]

    init(_ parts: [String]) {
      self.parts = parts
      let text = parts.joined(separator: "\n")
      prepared = PreparedString(text)
      sha256 = SHA256.hexadecimal(of: text.utf8)
      hashExtensions = #"{"persistedQuery":{"sha256Hash":"\#(sha256)","version":1}}"#
      do {
        let document = try DocumentSyntax(parsing: text)
        operations = document.operations.map {
          GraphQLOperation(kind: GraphQLOperation.Kind($0.kind), name: $0.name?.text)
        }
        let fragments = FragmentTable(document)
        let plans = document.operations.enumerated().compactMap { index, operation in
          IncrementalPlan(of: operation, fragments).map { (index, $0) }
        }
        incrementalPlans = Dictionary(uniqueKeysWithValues: plans)
        syntaxError = nil
      } catch {
        operations = []
        incrementalPlans = [:]
        syntaxError = error
      }
      name = operations.first?.name
    }
  }

  /// The operation of this name; if there is none, the document's only operation.
  /// - Throws: `invalidRequest` if there is no such operation, or if the text is not GraphQL: then with line and column.
  func operation(named name: String) throws(RequestError) -> GraphQLOperation {
    if let operation = operations.first(where: { $0.name == name }) { return operation }
    if operations.count == 1 { return operations[0] }
    guard let syntaxError = contents.syntaxError else {
      throw RequestError(.invalidRequest, "The document has no operation named '\(name)'.")
    }
    throw RequestError(.invalidRequest, "The document of '\(name)' is not GraphQL: \(syntaxError).")
  }

  /// The plan of the operation of this name, or of the only one; `nil` if it has neither `@defer` nor `@stream`.
  func incrementalPlan(named name: String) -> IncrementalPlan? {
    if contents.incrementalPlans.isEmpty { return nil }
    return contents.incrementalPlans[operations.count == 1 ? 0 : operations.firstIndex { $0.name == name } ?? -1]
  }

  /// The first operation, after which the document is called.
  /// - Throws: `invalidRequest` if there is none, or if the text is not GraphQL: then with line and column.
  var firstOperation: GraphQLOperation {
    get throws(RequestError) {
      if let first = operations.first { return first }
      let reason = contents.syntaxError.map { "is not GraphQL: \($0)" } ?? "has no operation"
      throw RequestError(.invalidRequest, "The document '\(text.sanitized(upTo: 64))' \(reason).")
    }
  }
}

extension GraphQLDocument {
  /// Whether the texts are equal.
  public static func == (left: GraphQLDocument, right: GraphQLDocument) -> Bool {
    left.contents === right.contents || left.text == right.text
  }

  /// Hashes the text.
  public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension GraphQLDocument: ExpressibleByStringLiteral {
  /// Makes a document of a literal.
  public init(stringLiteral text: StaticString) {
    self.init(["\(text)"])
  }

  private init(_ parts: [String]) {
    contents = Contents(parts)
  }

  /// Makes a document of the text of another one, to which fields were added.
  package init(rewritten text: String) {
    self.init([text])
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
    let parts = document.contents.parts
    return GraphQLDocument(parts + fragments.contents.parts.filter { !parts.contains($0) })
  }
}
