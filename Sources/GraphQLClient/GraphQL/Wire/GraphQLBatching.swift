public import Streams

/// Sends the queries that are asked for within an interval as one request, a JSON array; see ``GraphQLWire/batching``.
///
///     client.graphQL.wire.batching = .within(.milliseconds(10))
///
/// The server has to support it. Each query keeps its own cancellation, deadline, errors, interceptors and observer;
/// the middlewares see one request. It is sent when the interval since its first query is over, or when it is full. One
/// query alone is sent as it would be without batches.
///
/// Only queries by `POST` take part, to the same URL with the same header fields; mutations, subscriptions, downloads,
/// operations with `@defer` or `@stream`, sessions with secrets, and what has files or reports progress do not. Where all
/// have been cancelled, the request is.
///
/// A query whose token or rate the server refuses inside a batch is sent again by itself, through the middlewares that
/// deal with that; so are all, once, if the batch is too large for the server (413, `BATCH_LIMIT_EXCEEDED`). The client
/// and its copies then send at most half as many queries in a request, for as long as they live; at one, queries no
/// longer wait for others. Any other failure of the request is the error of each query, under its own name.
public struct GraphQLBatching: Sendable {
  /// How long the first query waits for others.
  public var interval: Duration

  /// The greatest number of queries in a request, at least 1; many servers allow 10.
  public var limit: Int

  let scheduler: any Scheduler

  /// Takes how long the first query of a request waits for others, the greatest number of queries in it, and the
  /// scheduler that times it.
  public static func within(
    _ interval: Duration = .milliseconds(10), upTo limit: Int = 10, scheduler: some Scheduler = ConcurrentScheduler()
  ) -> GraphQLBatching {
    GraphQLBatching(interval: interval, limit: max(limit, 1), scheduler: scheduler)
  }
}
