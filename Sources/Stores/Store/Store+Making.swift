public import Streams

/// The other ways to make a store.
extension Store {
  /// Makes a store of complete values, from streams.
  ///
  ///     Store<String, User> { id in GetUser(id: id).data(on: client).map(\.user) }
  /// - Parameters:
  ///   - configuration: How values are cached.
  ///   - sourceOfTruth: Keeps values across restarts; none by default.
  ///   - keyForResponse: The key to keep a response under, if that is not the requested key.
  ///   - fetch: Makes the request; the stream's first element is the response. Called without a lock held.
  public convenience init(
    configuration: StoreConfiguration<Value> = StoreConfiguration(),
    sourceOfTruth: (any SourceOfTruth<Key, Value>)? = nil,
    keyForResponse: @escaping @Sendable (Key, Value) -> Key = { key, _ in key },
    fetch: @escaping @Sendable (Key) -> Observable<Value>
  ) {
    self.init(
      partialFetch: { key, _ in fetch(key).map { Fetched($0) } }, configuration: configuration,
      sourceOfTruth: sourceOfTruth, keyForResponse: keyForResponse)
  }

  /// The same with the context of the read that begins the request.
  public convenience init(
    configuration: StoreConfiguration<Value> = StoreConfiguration(),
    sourceOfTruth: (any SourceOfTruth<Key, Value>)? = nil,
    keyForResponse: @escaping @Sendable (Key, Value) -> Key = { key, _ in key },
    fetch: @escaping @Sendable (Key, ReadContext) -> Observable<Value>
  ) {
    self.init(
      partialFetch: { key, context in fetch(key, context).map { Fetched($0) } }, configuration: configuration,
      sourceOfTruth: sourceOfTruth, keyForResponse: keyForResponse)
  }

  /// Makes a store of complete values, from `async` code. It runs in a task of its own, which is cancelled if nobody
  /// waits for the response any more.
  ///
  ///     Store<String, User> { id in try await service.user(id) }
  @_disfavoredOverload  // A closure that returns a stream must not be taken for one that returns a value.
  public convenience init(
    configuration: StoreConfiguration<Value> = StoreConfiguration(),
    sourceOfTruth: (any SourceOfTruth<Key, Value>)? = nil,
    keyForResponse: @escaping @Sendable (Key, Value) -> Key = { key, _ in key },
    fetch: @escaping @Sendable (Key) async throws -> Value
  ) {
    self.init(
      partialFetch: { key, _ in .async { Fetched(try await fetch(key)) } }, configuration: configuration,
      sourceOfTruth: sourceOfTruth, keyForResponse: keyForResponse)
  }

  /// The same with the context of the read that begins the request.
  @_disfavoredOverload
  public convenience init(
    configuration: StoreConfiguration<Value> = StoreConfiguration(),
    sourceOfTruth: (any SourceOfTruth<Key, Value>)? = nil,
    keyForResponse: @escaping @Sendable (Key, Value) -> Key = { key, _ in key },
    fetch: @escaping @Sendable (Key, ReadContext) async throws -> Value
  ) {
    self.init(
      partialFetch: { key, context in .async { Fetched(try await fetch(key, context)) } },
      configuration: configuration, sourceOfTruth: sourceOfTruth, keyForResponse: keyForResponse)
  }

  /// Makes a store whose server may return a part of what was requested, with errors that say what is missing.
  @_disfavoredOverload  // A closure without a label is `fetch`; else the compiler cannot say what is wrong with one.
  public convenience init(
    partialFetch: @escaping @Sendable (Key) -> Observable<Fetched<Value>>,
    configuration: StoreConfiguration<Value> = StoreConfiguration(),
    sourceOfTruth: (any SourceOfTruth<Key, Value>)? = nil,
    keyForResponse: @escaping @Sendable (Key, Value) -> Key = { key, _ in key }
  ) {
    self.init(
      partialFetch: { key, _ in partialFetch(key) }, configuration: configuration, sourceOfTruth: sourceOfTruth,
      keyForResponse: keyForResponse)
  }

  /// Makes a store of complete values, from streams, whose source of truth is asynchronous: see
  /// ``AsyncSourceOfTruth``.
  public convenience init(
    configuration: StoreConfiguration<Value> = StoreConfiguration(),
    sourceOfTruth: any AsyncSourceOfTruth<Key, Value>,
    keyForResponse: @escaping @Sendable (Key, Value) -> Key = { key, _ in key },
    fetch: @escaping @Sendable (Key) -> Observable<Value>
  ) {
    self.init(
      partialFetch: { key, _ in fetch(key).map { Fetched($0) } }, configuration: configuration,
      sourceOfTruth: sourceOfTruth, keyForResponse: keyForResponse)
  }

  /// The same from `async` code, which runs in a task of its own.
  @_disfavoredOverload
  public convenience init(
    configuration: StoreConfiguration<Value> = StoreConfiguration(),
    sourceOfTruth: any AsyncSourceOfTruth<Key, Value>,
    keyForResponse: @escaping @Sendable (Key, Value) -> Key = { key, _ in key },
    fetch: @escaping @Sendable (Key) async throws -> Value
  ) {
    self.init(
      partialFetch: { key, _ in .async { Fetched(try await fetch(key)) } }, configuration: configuration,
      sourceOfTruth: sourceOfTruth, keyForResponse: keyForResponse)
  }
}
