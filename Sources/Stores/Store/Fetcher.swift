public import GraphQLClient
import HTTPClientCore
public import Streams

/// How a store requests a value: one of its two inputs, beside its ``StoreStorage``.
///
/// It is made from `async` code, from a stream, or from a stream of responses that may be partial; each with the key
/// alone, or also with the ``ReadContext`` of the read that begins the request.
///
///     Store<String, User>(.of { id in try await service.user(id) })
///     Store<String, User>(.ofStream { id in GetUser(id: id).data(on: client).map(\.user) })
///
/// It is called without a lock held, on the thread of the read or write that needs a value. A request that nobody waits
/// for any more is cancelled: its task, or its subscription.
public struct Fetcher<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  let fetch: @Sendable (Key, ReadContext) -> Observable<Fetched<Value>>

  /// A request by `async` code, which runs in a task of its own, and returns a complete value.
  public static func of(_ fetch: @escaping @Sendable (Key) async throws -> Value) -> Fetcher {
    of { key, _ in try await fetch(key) }
  }

  /// A request by `async` code with the context of its read.
  public static func of(_ fetch: @escaping @Sendable (Key, ReadContext) async throws -> Value) -> Fetcher {
    Fetcher { key, context in .async { Fetched(try await fetch(key, context)) } }
  }

  /// A request by a cold stream, whose first element is a complete value.
  public static func ofStream(_ fetch: @escaping @Sendable (Key) -> Observable<Value>) -> Fetcher {
    ofStream { key, _ in fetch(key) }
  }

  /// A request by a cold stream with the context of its read.
  public static func ofStream(_ fetch: @escaping @Sendable (Key, ReadContext) -> Observable<Value>) -> Fetcher {
    Fetcher { key, context in fetch(key, context).map { Fetched($0) } }
  }

  /// A request by a cold stream, whose first element may be a part of what was requested, with errors that say what is
  /// missing.
  public static func ofPartial(_ fetch: @escaping @Sendable (Key) -> Observable<Fetched<Value>>) -> Fetcher {
    Fetcher { key, _ in fetch(key) }
  }

  /// A request for what may be partial, with the context of its read.
  public static func ofPartial(
    _ fetch: @escaping @Sendable (Key, ReadContext) -> Observable<Fetched<Value>>
  ) -> Fetcher {
    Fetcher(fetch: fetch)
  }
}

/// A server's response as a store takes it: a value, and what is missing from it.
public struct Fetched<Value: Sendable>: Sendable {
  /// The value.
  public var value: Value

  /// What went wrong besides. A response with errors is partial, and never replaces a complete one.
  public var errors: [any Error]

  /// Makes a response, which is complete unless there are errors.
  public init(_ value: Value, errors: [any Error] = []) {
    self.value = value
    self.errors = errors
  }
}

extension Fetched: Equatable where Value: Equatable {
  /// Whether values and errors are equal. Errors count as equal if they are of one type and have one description.
  public static func == (left: Fetched, right: Fetched) -> Bool {
    left.value == right.value && left.errors.isSame(as: right.errors)
  }
}

extension [any Error] {
  /// Whether two lists have the same errors, in order.
  func isSame(as other: [any Error]) -> Bool {
    count == other.count && zip(self, other).allSatisfy { Optional($0).isSame(as: $1) }
  }
}

extension Fetched {
  /// A GraphQL response: partial if it has errors beside the data.
  public init(_ response: GraphQLResponse<Value>) {
    self.init(response.data, errors: response.error.map { [$0] } ?? [])
  }
}
