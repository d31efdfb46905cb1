public import HTTPClientCore
public import Streams
public import SystemBase

/// Carries subscriptions: over a WebSocket, as an event stream, or in another way. A client's ``GraphQLSettings/live``
/// chooses.
///
///     client.graphQL.live = .webSocket()
///
/// Write one to carry them over something else. To test what uses subscriptions, a session's `sessionHandler` is less
/// work, and `ScriptedLiveTransport` of GraphQLClientTesting plays whole exchanges.
public protocol LiveTransport: Sendable {
  /// Returns a cold stream that runs the operation once for each subscriber.
  ///
  /// - Each value is an execution result in JSON (GraphQL specification, section 7.1).
  /// - A connection that is lost is made again, and reported: see ``LiveEvent``. A mutation is never sent a second time.
  /// - It completes when the server says that the operation is complete. It fails with a `RequestError` if the server
  ///   refuses the operation, or if another attempt makes no sense.
  /// - It calls back on a queue of its own, and keeps for a slow observer what `operation.buffering` says. No observer
  ///   delays another, or the connection.
  /// - Disposing the subscription tells the server.
  func open(_ operation: LiveOperation, on client: APIClient) -> Observable<LiveEvent<Data>>
}

/// An operation to be carried by a ``LiveTransport``.
public struct LiveOperation: Sendable {
  /// The operation as GraphQL over HTTP would send it with `POST`: its body is the JSON object with `query`,
  /// `variables` and `operationName`. The headers are the session's; there is no `Accept`.
  ///
  /// `isReplayable` says whether it may be sent again on another connection, which a mutation may not.
  public var request: HTTPRequest

  /// What is kept for a slow observer.
  public var buffering: LiveBuffering

  /// Makes an operation.
  public init(_ request: HTTPRequest, buffering: LiveBuffering = .dropOldest()) {
    self.request = request
    self.buffering = buffering
  }
}
