import HTTPClientCore
import Streams

/// Sends a GraphQL request that is not simply sent: with a hash in the place of its document, together with others, or
/// both.
struct GraphQLCarrier: RequestCarrier {
  private let client: APIClient
  private let persisted: PersistedQueryExchange?
  private let batching: GraphQLBatching?

  /// Takes what the request was made of, whether a hash stands for its document, and how it is sent with others, if that
  /// is allowed.
  init<Session: GraphQLSession>(_ session: Session, _ call: APICall, hasHash: Bool, batching: GraphQLBatching?) {
    client = call.client
    self.batching = batching
    persisted =
      hasHash
      ? PersistedQueryExchange(
        queries: client.graphQL.persistedQueries, hash: (call.rewritten ?? Session.query).sha256
      ) { withHash in
        var resent = APICall(.post, on: call.client, document: .text(withHash: withHash))
        resent.rewritten = call.rewritten
        return try session.makeRequest(resent)
      } : nil
  }

  func send(_ request: HTTPRequest, recorder: SentSecrets) -> Observable<HTTPResponsePart> {
    var request = request
    request.context.carrier = nil
    let send: @Sendable (HTTPRequest) -> Observable<HTTPResponsePart> = { [client, batching] request in
      if let batching, request.mayJoinBatch {
        return client.graphQL.batches.send(request, recorder: recorder, on: client, by: batching)
      }
      return client.send(request, recorder: recorder)
    }
    return persisted?.send(request, next: send) ?? send(request)
  }
}

extension HTTPRequest {
  /// Whether a batch can carry it: it has a body of its own, and nobody asks for the response's bytes as they come.
  fileprivate var mayJoinBatch: Bool {
    method == .post && body != nil && !isDownload && onProgress == nil
  }
}
