import HTTPClientCore
import Streams

/// Sends a GraphQL request that is not simply sent: with a hash in the place of its document, together with others, or
/// both.
struct GraphQLCarrier: RequestCarrier {
  private let client: APIClient
  private let persisted: PersistedQueryExchange?
  private let batching: GraphQLBatching?

  /// Takes how to send the request with its document, if a hash stands for that, and how to send it with others, if
  /// that is allowed; `nil` if it is simply sent.
  init?<Session: GraphQLSession>(
    _ session: Session, on client: APIClient, hasHash: Bool, batching: GraphQLBatching?
  ) {
    guard hasHash || batching != nil else { return nil }
    self.client = client
    self.batching = batching
    persisted =
      hasHash
      ? PersistedQueryExchange(queries: client.persistedQueries, hash: Session.query.sha256) { withHash in
        var client = client
        client.wholeDocument = .text(withHash: withHash)
        return try session.makeRequest(.post, for: client)
      } : nil
  }

  func send(_ request: HTTPRequest, recorder: any HTTPMiddleware) -> Observable<HTTPResponsePart> {
    var request = request
    request.context.carrier = nil
    let send: @Sendable (HTTPRequest) -> Observable<HTTPResponsePart> = { [client, batching] request in
      if let batching, request.method == .post, !request.isDownload, request.onProgress == nil {
        return client.batches.send(request, recorder: recorder, on: client, by: batching)
      }
      let layers = client.middlewares.isEmpty ? [] : client.middlewares + [recorder]
      return client.transport.send(request, through: layers)
    }
    return persisted?.send(request, next: send) ?? send(request)
  }
}
