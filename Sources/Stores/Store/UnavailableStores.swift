public import GraphQLClient
public import Streams

// What is easily written, where the compiler's own message would not say what to write instead. None of these is chosen
// where something else fits: what is unavailable comes last.

extension Store {
  /// Not for closures that return streams.
  @available(
    *, unavailable, message: "a closure that returns a stream is .ofStream: write Store(.ofStream { key in … })"
  )
  public convenience init(
    storage: StoreStorage<Key, Value> = .memory, configuration: StoreConfiguration<Value> = StoreConfiguration(),
    fetch: @escaping @Sendable (Key) -> Observable<Value>
  ) { self.init(.ofStream(fetch), storage: storage, configuration: configuration) }

  /// Not for a key.
  @available(
    *, unavailable, message: "write mutate(.of(key) { value in … }) { … }, or, without a request, update(key) { … }"
  )
  public func mutate(_ key: Key, _ change: (inout Value) throws -> Void) rethrows {}
}

extension Fetcher {
  /// Not for closures that return streams.
  @available(*, unavailable, renamed: "ofStream(_:)")
  public static func of(_ fetch: @escaping @Sendable (Key) -> Observable<Value>) -> Fetcher { ofStream(fetch) }
}

extension NormalizedStore {
  /// Not for rows without cursors.
  @available(*, unavailable, message: "the closure returns a Page: write Page(rows, hasNextPage: …, endCursor: …)")
  public func pager<Session: GraphQLSession, Item: Sendable, Cursor: Equatable & Sendable>(
    _ policy: FetchPolicy = .cacheFirst, context: ReadContext = ReadContext(),
    session: @escaping @Sendable (PagePosition<Cursor>) -> Session,
    page: @escaping @Sendable (Session.ResponseData) -> [Item]
  ) -> ConnectionPager<Item, Cursor> {
    pager(policy, context: context, session: session) { Page(page($0), hasNextPage: false, endCursor: nil) }
  }
}
