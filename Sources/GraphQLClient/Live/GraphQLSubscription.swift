import HTTPClientCore
public import Streams
import StrictJSON
import SystemBase

/// A GraphQL subscription as a value: a session like the others, whose operation has a result for each event.
///
///     struct PriceChanged: GraphQLSubscription {
///       struct Variables: Encodable, Sendable { let id: String }
///       struct ResponseData: Decodable, Sendable { let priceChanged: Price }
///       static let query: GraphQLDocument = "subscription priceChanged($id: ID!) { priceChanged(id: $id) { amount } }"
///       let variables: Variables
///     }
///     PriceChanged(variables: .init(id: "7")).data(on: client)       // Observable<PriceChanged.ResponseData>
///     PriceChanged(variables: .init(id: "7")).subscribe(on: client)  // and what becomes of the connection
///
/// How it travels is up to ``GraphQLSettings/live``.
public protocol GraphQLSubscription: GraphQLSession {
  /// What is kept for an observer that is slower than the server; 256 values and 4 MiB by default, and the oldest are
  /// dropped.
  var buffering: LiveBuffering { get }
}

extension GraphQLSubscription {
  /// 256 values and 4 MiB; the oldest are dropped.
  public var buffering: LiveBuffering { .dropOldest() }

  /// Subscribes: a cold stream of results, and of what becomes of the connection; each subscriber begins a subscription
  /// of its own. Disposing it tells the server.
  ///
  /// A connection that is lost is made again, by ``LiveSettings``, and the subscription is sent again:
  /// ``LiveEvent/reconnected`` says that something may have been missed. A rejected token is refreshed once.
  ///
  /// Each result is treated by the error policy: with `none`, errors beside data end the stream; with `all`, one that
  /// has errors alone is ``LiveEvent/failed(_:)``, and others follow.
  ///
  /// It completes when the server ends the subscription. It fails with a `RequestError` that names the operation:
  /// `graphQL` if the server refuses the operation, `closed` or `httpStatus` if it refuses the connection, `badResponse`
  /// for what the protocol does not allow, `connectionLost` with a `TransportShutdown` as its cause once the transport is
  /// shut down, and with the last failure once ``LiveSettings/attempts`` have failed. It calls back on a queue of its own.
  public func subscribe(on client: APIClient) -> Observable<LiveEvent<ResponseType>> {
    .deferred {
      let sent = SentFields(of: self)
      do {
        let request = try liveRequest(for: client, sent)
        let operation = LiveOperation(request, buffering: buffering)
        return client.graphQL.live.open(operation, on: client)
          .map { event in
            do {
              return try event.map { sent.described(try response($0, by: client.decoder)) }.describingErrors(by: sent)
            } catch let error as RequestError where error.kind == .graphQL && errorPolicy == .all {
              return .failed(sent.described(error))
            }
          }
          .catch { .error(sent.described($0)) }
      } catch {
        throw sent.described(error)
      }
    }
  }

  /// Subscribes: a cold stream of the `data` of the results, by the error policy, without what becomes of the
  /// connection. What was missed while there was no connection, or because the observer was slow, is not reported; where
  /// it matters, use ``subscribe(on:)``.
  public func data(on client: APIClient) -> Observable<ResponseData> {
    subscribe(on: client).compactMap { event in
      if case .failed(let error) = event { throw error }
      return event.value?.data
    }
  }

  /// The request of ``LiveOperation``.
  private func liveRequest(for client: APIClient, _ sent: SentFields) throws -> HTTPRequest {
    var parameters = parameters
    let plan = try OperationPlan(
      parameters.document, named: operationName, .live, by: wire ?? client.graphQL.wire)
    parameters.sentDocument = plan.document
    var headers = try headers.adding(defaults: client.defaultHeaders)
    headers.remove("Content-Type")
    headers = headers.adding(defaults: ["Content-Type": "application/json"])
    let body: Data
    do { body = try client.encoder.encode(parameters) } catch let error as EncodingError {
      throw RequestError(.invalidRequest, "The parameters cannot be written: \(DecodingFailure(error))")
    }
    var request = HTTPRequest(
      method: .post, target: try client.target(forPath: path), headers: headers, body: body,
      timeouts: timeouts ?? client.timeouts, operationName: operationName, isReplayable: true)
    request.onlyReads = true
    request.operationType = .subscription
    sent.record(&request)
    return request
  }

  /// Decodes one result, and treats it by the error policy.
  private func response(_ result: Data, by decoder: any BodyDecoder) throws -> ResponseType {
    do {
      return try ResponseType(reading: result, by: decoder, errorPolicy)
    } catch {
      throw RequestError(reading: error)
    }
  }
}

extension LiveEvent {
  fileprivate func describingErrors(by sent: SentFields) -> LiveEvent {
    switch self {
    case .failed(let error): .failed(sent.described(error))
    case .disconnected(let error, let delay): .disconnected(sent.described(error), retryAfter: delay)
    default: self
    }
  }
}

/// A subscription has no single response. Deprecated, since what is unavailable would give way to the methods of every
/// session.
extension GraphQLSubscription {
  /// Not for subscriptions.
  @available(*, deprecated, message: "A subscription has many responses: use subscribe(on:) or data(on:)")
  public func post(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .post) }
  /// Not for subscriptions.
  @available(*, deprecated, message: "A subscription has many responses: use subscribe(on:) or data(on:)")
  public func get(on client: APIClient) -> Observable<ResponseType> { client.send(self, method: .get) }
}
