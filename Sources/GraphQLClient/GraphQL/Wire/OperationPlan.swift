import HTTPClientCore

/// How an operation travels: decided here alone, from what it is, what is asked for and the settings, before anything of
/// it is encoded.
struct OperationPlan: Equatable {
  /// What is asked for.
  enum Delivery: Equatable {
    /// One response, to a request with a method.
    case once(HTTPMethod)
    /// A result for each event, through a ``LiveTransport``.
    case live
  }

  /// The method of its request.
  enum Method: Equatable {
    case post
    /// By `GET`, unless the URL is too long.
    case get
    /// By `GET`, unless the URL is too long or there are files.
    case getIfPossible
  }

  /// What the operation does.
  let kind: GraphQLOperation.Kind

  /// What stands for the document.
  let document: SentDocument

  let method: Method

  /// Whether a request of it by `POST` may be sent together with others, if it has no files.
  let mayJoinBatch: Bool

  /// Plans the operation of a document that has this name, or its only one.
  ///
  /// - Parameters:
  ///   - isSecret: Whether the session has secrets, which must not be in a URL, or in what belongs to others as well.
  ///   - isAlone: Whether its response differs in form from that of a batch.
  ///   - form: How the document goes, if the server did not know its hash: then by `POST`.
  ///   - sendsHashes: Whether hashes are worth trying, as far as the server is known.
  /// - Throws: `invalidRequest` for an operation that cannot be sent so, and for a document that has no id, but needs one.
  init(
    _ document: GraphQLDocument, named name: String, _ delivery: Delivery, by wire: GraphQLWire,
    isSecret: Bool = false, isAlone: Bool = false, insteadOfHash form: SentDocument? = nil, sendsHashes: Bool = true
  ) throws(RequestError) {
    let operation = try document.operation(named: name)
    kind = operation.kind
    let incremental = document.incrementalPlan(named: name)
    switch delivery {
    case .live:
      guard kind == .subscription else {
        throw RequestError(.invalidRequest, "The document has no subscription named '\(name)'.")
      }
      guard incremental == nil else {
        throw RequestError(
          .invalidRequest,
          "'\(name)' is a subscription, whose results do not arrive in parts: take '@defer' and '@stream' out, or fetch "
            + "what is slow by a query, with responses(on:).")
      }
      // A server of automatic persisted queries is asked by requests that have a response of their own.
      self.document =
        if case .trusted = wire.documents.kind { try wire.documents.sent(document) } else { .text(withHash: false) }
      (method, mayJoinBatch) = (.post, false)
    case .once(let asked):
      guard kind != .subscription else {
        throw RequestError(
          .invalidRequest,
          "'\(name)' is a subscription, which has many responses: make it a GraphQLSubscription, and call "
            + "subscribe(on:) or data(on:).")
      }
      if let problem = incremental?.problem { throw RequestError(.invalidRequest, problem) }
      guard asked == .post || (asked == .get && kind == .query) else {
        throw RequestError(.invalidRequest, "A \(kind.rawValue) cannot be sent with \(asked): use POST.")
      }
      self.document = if let form { form } else { try wire.documents.sent(document, sendsHashes: sendsHashes) }
      let isQuery = kind == .query
      // Servers and proxies log URLs, and the errors of a batch quote what belongs to others.
      let prefersGET = wire.sendsQueriesByGET && wire.batching == nil && isQuery && form == nil && !isSecret
      method = asked == .get ? .get : prefersGET ? .getIfPossible : .post
      mayJoinBatch = isQuery && wire.batching != nil && !isSecret && !isAlone && incremental == nil
    }
  }
}
