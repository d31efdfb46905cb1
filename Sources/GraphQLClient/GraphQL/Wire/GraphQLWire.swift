import HTTPClientCore

/// How GraphQL operations travel: in which form their documents, and by which method queries.
///
///     client.graphQL.wire = .persistedQueries()      // a hash in the place of the document, by GET
///
/// A session can have settings of its own, see `GraphQLSession.wire`.
///
/// | | a query | a mutation |
/// |---|---|---|
/// | ``post``, the default | its document, by `POST` | its document, by `POST` |
/// | ``get`` | its document, by `GET` | its document, by `POST` |
/// | ``persistedQueries(byGET:)`` | a hash, by `GET`; the document once, by `POST` | a hash, then the document, by `POST` |
/// | ``trustedDocuments(_:ids:byGET:)`` | an id, by `GET` | an id, by `POST` |
///
/// What has files among its variables, a query whose URL would be too long, and one with secrets (`APISession.secrets`,
/// `isResponseSecret`), since servers and proxies log URLs, travels by `POST` all the same. A `GET` has the header fields
/// that servers require against forged requests from other web pages.
public struct GraphQLWire: Sendable {
  /// In which form documents travel.
  public var documents: GraphQLDocumentForm

  /// Whether queries travel by `GET`, which caches on the way can answer, even if a session is sent with `post(on:)`.
  /// A mutation never does, nor a session with secrets.
  public var sendsQueriesByGET: Bool

  /// The longest URL of a query by `GET`, in bytes; with a longer one, the query travels by `POST`. 4,096 by default:
  /// servers and proxies often refuse twice as much.
  public var urlLimit = 4096

  /// Whether queries by `POST` that are asked for at about the same time travel as one request; `nil`, the default, for
  /// never. While it is set, queries travel by `POST`, unless `get(on:)` asks for the other.
  public var batching: GraphQLBatching?

  /// Takes how documents travel, and whether queries travel by `GET`.
  public init(documents: GraphQLDocumentForm = .text, sendsQueriesByGET: Bool = false) {
    self.documents = documents
    self.sendsQueriesByGET = sendsQueriesByGET
  }

  /// Whole documents, by `POST`.
  public static let post = GraphQLWire()

  /// Whole documents, and queries by `GET`.
  public static let get = GraphQLWire(sendsQueriesByGET: true)

  /// Automatic persisted queries: a hash travels in the place of the document. If the server does not know it yet, the
  /// same request is sent once more, with hash and document, by `POST`.
  public static func persistedQueries(byGET: Bool = true) -> GraphQLWire {
    GraphQLWire(documents: .automaticallyPersisted, sendsQueriesByGET: byGET)
  }

  /// Trusted documents: only ids travel, of documents that the server was given beforehand.
  public static func trustedDocuments(
    _ shape: TrustedDocumentShape, ids: GraphQLManifest? = nil, byGET: Bool = true
  ) -> GraphQLWire {
    GraphQLWire(documents: .trusted(shape, ids: ids), sendsQueriesByGET: byGET)
  }
}

/// In which form the document of an operation travels.
public struct GraphQLDocumentForm: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    case text, automaticallyPersisted
    case trusted(TrustedDocumentShape, GraphQLManifest?)
  }

  let kind: Kind

  /// As it is.
  public static let text = GraphQLDocumentForm(kind: .text)

  /// By its SHA-256, in `extensions.persistedQuery`, as Apollo's automatic persisted queries have it.
  ///
  /// A server that has not seen the hash says `PersistedQueryNotFound`; then the request is sent once more, with the
  /// document, within the same deadline. To a server that says `PersistedQueryNotSupported`, the client and its copies
  /// send documents as they are from then on; to one that takes the document after it failed at the first hash, for a
  /// minute, and after each further failure for twice as long, up to an hour. Responses
  /// that a hash is not known are not kept: the next `GET` of that hash asks caches on the way to ask the server.
  public static let automaticallyPersisted = GraphQLDocumentForm(kind: .automaticallyPersisted)

  /// Only by an id. Without `ids`, that is the SHA-256 of the document; with a manifest, what it says, and a request
  /// with a document that it lacks fails with `invalidRequest`. What the server refuses is an error; the document is
  /// never sent.
  public static func trusted(_ shape: TrustedDocumentShape, ids: GraphQLManifest? = nil) -> GraphQLDocumentForm {
    GraphQLDocumentForm(kind: .trusted(shape, ids))
  }
}

/// Where the id of a trusted document stands in a request.
public struct TrustedDocumentShape: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    case documentID, apollo
    case parameter(String)
  }

  let kind: Kind

  /// `documentId`, which for a hash is `sha256:` and its digits (GraphQL over HTTP, draft on persisted documents).
  public static let documentID = TrustedDocumentShape(kind: .documentID)

  /// `extensions.persistedQuery.sha256Hash`, as Apollo's routers and servers take it for operations that are safelisted.
  public static let apollo = TrustedDocumentShape(kind: .apollo)

  /// A parameter of the request, as Relay's servers take it: `doc_id` by default, elsewhere `id` or `docId`.
  public static func relay(parameter: String = "doc_id") -> TrustedDocumentShape {
    TrustedDocumentShape(kind: .parameter(parameter))
  }
}

extension GraphQLDocumentForm {
  /// What stands for a document, where hashes are worth trying or not. Throws `invalidRequest` if it has no id, but needs
  /// one.
  func sent(_ document: GraphQLDocument, sendsHashes: Bool = true) throws(RequestError) -> SentDocument {
    switch kind {
    case .text: return .text(withHash: false)
    case .automaticallyPersisted:
      return sendsHashes ? .hash : .text(withHash: false)
    case .trusted(let shape, nil):
      if case .documentID = shape.kind { return .id("sha256:" + document.sha256, shape) }
      return .id(document.sha256, shape)
    case .trusted(let shape, let ids?):
      guard let id = ids.id(of: document) else {
        let name = try document.firstOperation.name ?? "an operation without a name"
        throw RequestError(
          .invalidRequest,
          "The document of '\(name)' is not in the manifest of trusted documents: write the manifest again, and give it "
            + "to the server.")
      }
      // A hash is told apart from an id of another kind by its prefix.
      if case .documentID = shape.kind, id == document.sha256 { return .id("sha256:" + id, shape) }
      return .id(id, shape)
    }
  }
}

/// What stands for an operation's document in a request.
enum SentDocument: Hashable {
  /// The text, and for a server that persists queries, its hash.
  case text(withHash: Bool)
  /// The hash alone.
  case hash
  case id(String, TrustedDocumentShape)
}
