public import HTTPClientCore
import StrictJSON
public import SystemBase

/// The operations that a server is to trust, with their ids: what is given to the server when a client is released.
///
///     let manifest = try GraphQLManifest([GetUser.query, AddPhoto.query])
///     try manifest.json(.apollo).write(to: file)
///
/// `swift run graphql manifest` writes one of files with operations; the documents of sessions only the program knows.
public struct GraphQLManifest: Sendable, Hashable {
  /// An operation with its id.
  public struct Operation: Sendable, Hashable, Encodable {
    /// The id: the lower-case hexadecimal SHA-256 of ``body``, unless a manifest says otherwise.
    public let id: String
    /// The operation's name; empty if it has none.
    public let name: String
    /// `query`, `mutation` or `subscription`.
    public let type: String
    /// The document, byte by byte as sessions have it.
    public let body: String
  }

  /// The format of a manifest's file.
  public enum Format: String, Sendable, CaseIterable {
    /// `{"format": "apollo-persisted-query-manifest", "version": 1, "operations": [{"id", "name", "type", "body"}, …]}`.
    case apollo
    /// `{"ID": "DOCUMENT", …}`, as Relay's compiler writes it.
    case relay
  }

  /// The operations, in the order of their names.
  public let operations: [Operation]

  private let ids: [String: String]

  /// Makes the manifest of documents, whose ids are their hashes; a document that occurs twice counts once.
  ///
  /// Throws `invalidRequest` for a text that is not GraphQL, or has no operation.
  public init(_ documents: [GraphQLDocument]) throws(RequestError) {
    var operations: [Operation] = []
    for document in documents {
      let first = try document.firstOperation
      operations.append(
        Operation(id: document.sha256, name: first.name ?? "", type: first.kind.rawValue, body: document.text))
    }
    self.init(operations)
  }

  /// Makes the manifest of texts, whose ids are their hashes.
  package init(_ texts: [(name: String, type: String, body: String)]) {
    self.init(
      texts.map { Operation(id: SHA256.hexadecimal(of: $0.body.utf8), name: $0.name, type: $0.type, body: $0.body) })
  }

  /// Reads a manifest's file, in either format.
  ///
  /// Throws `undecodable` if it is neither, with the place, and if a document has two ids, or an id two documents: then
  /// a client and a server could differ in what an id means.
  public init(json: Data) throws(RequestError) {
    let operations: [Operation]
    do throws(JSONError) {
      operations = try Contents(json: json.bytes).operations
    } catch {
      throw RequestError(.undecodable, "This is no manifest of operations: \(error)")
    }
    var (ids, bodies): ([String: String], [String: String]) = ([:], [:])
    for operation in operations {
      if let id = ids.updateValue(operation.id, forKey: operation.body), id != operation.id {
        throw Self.ambiguous("one document has the ids \(Self.shown(id)) and \(Self.shown(operation.id))")
      }
      if let body = bodies.updateValue(operation.body, forKey: operation.id), body != operation.body {
        throw Self.ambiguous("the id \(Self.shown(operation.id)) stands for two documents")
      }
    }
    self.init(operations)
  }

  private static func ambiguous(_ what: String) -> RequestError {
    RequestError(.undecodable, "This manifest is ambiguous: \(what). Each document needs one id of its own.")
  }

  private static func shown(_ id: String) -> String { "'\(id.sanitized(upTo: 100))'" }

  private init(_ operations: [Operation]) {
    var ids: [String: String] = [:]
    var once: [Operation] = []
    for operation in operations where ids.updateValue(operation.id, forKey: operation.body) == nil {
      once.append(operation)
    }
    self.operations = once.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    self.ids = ids
  }

  /// The id of a document; `nil` if it is not in the manifest.
  public func id(of document: GraphQLDocument) -> String? { ids[document.text] }

  /// The manifest as a file, the same for the same operations.
  public func json(_ format: Format) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let contents =
      switch format {
      case .apollo:
        try encoder.encode(
          File(format: "apollo-persisted-query-manifest", version: 1, operations: operations))
      case .relay:
        try encoder.encode(Dictionary(operations.map { ($0.id, $0.body) }) { first, _ in first })
      }
    return contents + Data("\n".utf8)
  }

  private struct File: Encodable {
    let format: String
    let version: Int
    let operations: [Operation]
  }

  /// The operations of a file in either format.
  private struct Contents: JSONDecodable {
    var operations: [Operation] = []

    init(from json: inout JSONReader) throws(JSONError) {
      try json.beginObject()
      while try json.nextKey() {
        let key = json.key
        switch try json.nextKind() {
        case .array where key == "operations":
          try json.beginArray()
          while try json.nextElement() { operations.append(try Self.operation(from: &json)) }
        case .string where key != "format":
          operations.append(Operation(id: key, name: "", type: "", body: try json.readString()))
        default: try json.skipValue()
        }
      }
    }

    private static func operation(from json: inout JSONReader) throws(JSONError) -> Operation {
      var members: [String: String] = [:]
      try json.beginObject()
      while try json.nextKey() {
        let key = json.key
        if try json.nextKind() == .string { members[key] = try json.readString() } else { try json.skipValue() }
      }
      guard let id = members["id"] else { throw json.missing("id") }
      guard let body = members["body"] else { throw json.missing("body") }
      return Operation(id: id, name: members["name"] ?? "", type: members["type"] ?? "", body: body)
    }
  }
}
