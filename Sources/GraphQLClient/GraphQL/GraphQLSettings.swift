/// What a client does with GraphQL operations, beside what it does with every request: ``APIClient/graphQL``.
///
///     client.graphQL.live = .webSocket()
///     client.graphQL.wire = .persistedQueries()
///
/// Set them once, and share the client: copies of it share the connections of subscriptions, and what was learned of the
/// server.
public struct GraphQLSettings: Sendable {
  /// Carries subscriptions; as event streams by default.
  public var live: any LiveTransport = .eventStream()

  /// How operations travel: whole documents by `POST` by default.
  public var wire = GraphQLWire.post

  /// What is known of the server's automatic persisted queries.
  package var persistedQueries = PersistedQueries()

  /// The batches in which queries gather.
  let batches = QueryBatches()

  init() {}
}
