public import SystemBase

/// The operations that a server is to trust, with their ids: what is given to the server when a client is released.
///
///     let manifest = try GraphQLManifest([GetUser.query, AddPhoto.query])
///     try manifest.json(.apollo).write(to: file)
///
/// `swift run graphql manifest` writes one of files with operations, and `graphql generate` one of the sessions that it
/// generates; the documents of other sessions only the program knows.
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

    package init(id: String, name: String, type: String, body: String) {
      (self.id, self.name, self.type, self.body) = (id, name, type, body)
    }
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

  /// Makes the manifest of texts, whose ids are their hashes.
  package init(_ texts: [(name: String, type: String, body: String)]) {
    self.init(
      operations: texts.map {
        Operation(id: SHA256.hexadecimal(of: $0.body.utf8), name: $0.name, type: $0.type, body: $0.body)
      })
  }

  /// Makes the manifest of operations; a document that occurs twice counts once.
  package init(operations: [Operation]) {
    var ids: [String: String] = [:]
    var once: [Operation] = []
    for operation in operations where ids.updateValue(operation.id, forKey: operation.body) == nil {
      once.append(operation)
    }
    self.operations = once.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    self.ids = ids
  }

  /// The id of a document's text; `nil` if it is not in the manifest.
  package func id(ofText text: String) -> String? { ids[text] }

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
}
