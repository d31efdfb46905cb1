public import GraphQLClient
import GraphQLLanguage
import HTTPClientCore
public import Streams
import StrictJSON
public import SystemBase

/// The responses of a server's operations, taken apart into its objects: what one operation brings shows at once in all
/// others that have the same object.
///
///     let store = NormalizedStore(client, schema: RecordSchema(schemaText))
///     store.stream(GetIssue(variables: .init(id: "7")), .cacheAndNetwork)   // snapshots, for as long as you subscribe
///     store.get(GetIssues(), .cacheFirst)                                   // one snapshot
///     store.mutate(CloseIssue(variables: .init(id: "7")))                   // shows in both
///
/// It stands beside ``Store``, with the same policies, snapshots, freshness and errors; a `Store` keeps responses whole,
/// by key, and so is for REST, and for what has no identity. Operations are sessions as users write or generate them:
/// `__typename` and the key fields that ``RecordSchema`` knows are added to their documents, and their types do not see
/// them. An object with a key is kept once; one without is a part of what it is in.
///
/// Operations whose variables are `Hashable` are distinguished by their `==`; others, byte by byte, by what is sent. The `==`
/// that Swift makes takes strings for equal that are canonically equivalent, such as "é" of one scalar and of two: where
/// a server has both, write one that compares them by `utf8`, or leave `Hashable` out. All else is distinguished by bytes.
///
/// The `==` and `hash` of a session's variables, and the `deinit` of objects in a session, must not call the store: they
/// run under its lock.
///
/// One store serves one account. A response that comes after ``clear()`` or ``signOut()``, and was requested before, is
/// not kept. Thread-safe; streams call back as those of a `Store` do.
public final class NormalizedStore: Sendable {
  let client: APIClient
  let configuration: NormalizedConfiguration
  let schema: RecordSchema
  private let keptRecords: Locked<NormalizedRecords>
  let journal: RecordJournal?
  private let documents = Locked<[DocumentKey: Document]>([:])
  private let requests: Requests
  /// Policies, watchers, requests and back-off: of values that are read from the records.
  let store: Store<NormalizedKey, NormalizedValue>
  let collection = Locked(Collection())

  /// Makes a store whose records are in memory.
  /// - Parameters:
  ///   - client: Sends the operations.
  ///   - schema: What is known of the server's types.
  ///   - configuration: How long responses may be used, and what failures mean.
  public convenience init(
    _ client: APIClient, schema: RecordSchema = RecordSchema(),
    configuration: NormalizedConfiguration = NormalizedConfiguration()
  ) {
    self.init(
      client, schema, configuration, Locked(configuration.records(schema)), journal: nil)
  }

  /// Makes a store whose records are also on disk, so that they survive the process, however it ends: values with their
  /// age, what is out of date, and what the server has refused.
  ///
  ///     let store = try NormalizedStore(client, schema: schema, folder: folder, partition: account)
  ///
  /// The folder is created if it does not exist. Nothing is read before the store is used; then, all of it. A response
  /// goes to its caller when what it has brought is on disk, unless ``NormalizedConfiguration/writing`` is `behind`;
  /// what ``update(_:)`` and `invalidate` change is written on the caller's thread. A file whose end is damaged counts
  /// without that, one that is damaged elsewhere as empty, and one of a schema that gives types other keys, too.
  /// - Parameters:
  ///   - client: Sends the operations.
  ///   - schema: What is known of the server's types.
  ///   - folder: The folder of the partitions; it should contain nothing else.
  ///   - partition: Identifies the account.
  ///   - configuration: How long responses may be used, what failures mean, and when is written.
  /// - Throws: ``NormalizedStorageError/alreadyOpen`` if another store of the folder and partition is open, in this
  ///   process or another; or ``FileError``.
  public convenience init(
    _ client: APIClient, schema: RecordSchema = RecordSchema(), folder: URL, partition: String = "",
    configuration: NormalizedConfiguration = NormalizedConfiguration()
  ) throws {
    try self.init(
      client, schema: schema, folder: folder, partition: partition, configuration: configuration,
      fileSystem: SystemFileSystem())
  }

  package convenience init(
    _ client: APIClient, schema: RecordSchema, folder: URL, partition: String, configuration: NormalizedConfiguration,
    fileSystem: some FileSystem
  ) throws {
    let file = try RecordFile(folder, partition: partition, fileSystem: fileSystem)
    self.init(client, schema: schema, storage: file, configuration: configuration)
  }

  /// Makes a store whose records are also in a storage of yours, such as a database, or Redis, which processes may share:
  /// what one of them writes, removes or invalidates shows in the others when the storage says that there is something.
  ///
  ///     let store = NormalizedStore(client, schema: schema, storage: RedisRecords(redis, partition: account))
  ///
  /// All else is as in a folder; see ``init(_:schema:folder:partition:configuration:)``.
  /// - Parameters:
  ///   - client: Sends the operations.
  ///   - schema: What is known of the server's types; all processes must give types the same keys.
  ///   - storage: Keeps the account's records.
  ///   - configuration: How long responses may be used, what failures mean, and when is written.
  public convenience init(
    _ client: APIClient, schema: RecordSchema = RecordSchema(), storage: some RecordStorage,
    configuration: NormalizedConfiguration = NormalizedConfiguration()
  ) {
    let records = Locked(configuration.records(schema))
    records.withLock { $0.beginLog { [encoder = client.encoder] in $0.digest(by: encoder) } }
    self.init(
      client, schema, configuration, records, journal: RecordJournal(storage, of: records, configuration))
  }

  private init(
    _ client: APIClient, _ schema: RecordSchema, _ configuration: NormalizedConfiguration,
    _ records: Locked<NormalizedRecords>, journal: RecordJournal?
  ) {
    self.client = client
    self.schema = schema
    self.configuration = configuration
    keptRecords = records
    self.journal = journal
    let requests = Requests()
    self.requests = requests
    store = Store(
      .ofPartial { key, context in requests.fetch(key, context) },
      storage: journal.map { .source(RecordJournalSource(journal: $0)) } ?? .memory,
      configuration: configuration.ofValues)
    requests.setStore(self)
    journal?.setReceiver { [weak self] in self?.show($0) ?? {} }
  }

  /// Reads what is on disk, or in the storage, on a thread that may wait for it; without this, who uses the store first
  /// does.
  public func load() async {
    await withCheckedContinuation { continuation in
      _ = ElasticScheduler().schedule {
        _ = self.records
        continuation.resume()
      }
    }
  }

  /// The records, with what was on disk.
  var records: Locked<NormalizedRecords> { journal?.loaded ?? keptRecords }

  /// The store's own requests, which do not keep it alive.
  private final class Requests: Sendable {
    private struct Reference: Sendable { weak var store: NormalizedStore? }
    private let reference = Locked(Reference())

    func setStore(_ store: NormalizedStore) { reference.withLock { $0.store = store } }

    func fetch(_ key: NormalizedKey, _ context: ReadContext) -> Observable<Fetched<NormalizedValue>> {
      guard let store = reference.withLock({ $0.store }) else { return .error(StoreError.closed) }
      return key.source.fetch(key, context, for: store)
    }
  }

  // MARK: Documents

  private struct DocumentKey: Hashable, Sendable {
    let identity: ObjectIdentifier
    let name: ExactText
  }

  /// What is made once of a session's document.
  struct Document: Sendable {
    let rewritten: GraphQLDocument
    let plan: RecordPlan
  }

  /// A session's document with what is added to it, and its plan.
  func document(of key: NormalizedKey) throws -> Document {
    let name = DocumentKey(identity: key.source.identity, name: ExactText(key.name))
    if let known = documents.withLock({ $0[name] }) { return known }
    do {
      let syntax = try key.source.document(by: schema)
      let made = Document(
        rewritten: GraphQLDocument(rewritten: syntax.source), plan: try key.source.plan(of: syntax, by: schema))
      documents.withLock { $0[name] = made }
      return made
    } catch {
      throw RequestError(.invalidRequest, "The document of '\(key.name)' cannot be cached: \(error).")
    }
  }

  /// The plan of a key with the values of its variables.
  func plan(of key: NormalizedKey) throws -> PreparedPlan {
    if let known = records.withLock({ $0.plan(of: key) }) { return known }
    var plan = PreparedPlan(try document(of: key).plan, variables: try key.source.variables(by: client.encoder))
    plan.readsAllPages = key.source.form == .allPages
    return plan
  }
}

// MARK: - Reading

extension NormalizedStore {
  /// A live stream of an operation: a snapshot at once, then one for each change of what it has read, whichever operation
  /// has brought that. It never fails, and completes when the store is closed or its account signed out; failures are in
  /// the snapshots. See ``Store/stream(_:_:context:)``.
  ///
  /// If a change leaves something missing, the last value stays, stale, and policies that use the network request it
  /// again.
  /// - Parameters:
  ///   - session: The operation.
  ///   - policy: When to read the cache, and when to use the network.
  ///   - context: What a request needs beside the operation.
  ///   - allowsPartial: Whether a part of the response is shown, too, with null for what is missing, until all is there:
  ///     the title of a list's row, for example, where the page about it is still being requested. Such a snapshot has
  ///     `isPartial`, is stale, and comes only if the types of the missing fields are optional, and something is there.
  ///     Streams that allow it share their requests among themselves, and not with those that do not.
  public func stream<Session: GraphQLSession>(
    _ session: Session, _ policy: FetchPolicy = .cacheFirst, context: ReadContext = ReadContext(),
    allowsPartial: Bool = false
  ) -> Observable<Snapshot<Session.ResponseData>> {
    .deferred { [self] in
      let key = try NormalizedKey(session, allowsPartial ? .partial : .whole, by: client.encoder)
      return stream(key, policy, context)
    }
  }

  /// A live stream of an operation's values only. It makes no request, never fails, and completes as
  /// ``stream(_:_:context:allowsPartial:)`` does.
  public func values<Session: GraphQLSession>(_ session: Session) -> Observable<Session.ResponseData> {
    .deferred { [self] in values(try NormalizedKey(session, by: client.encoder)) }
  }

  /// A cold stream of one snapshot, by a policy; see ``Store/get(_:_:context:)``. An operation that was never requested
  /// is read, too, if other operations have brought all of it; its age is then that of the oldest they may have.
  @inlinable
  public func get<Session: GraphQLSession>(
    _ session: Session, _ policy: FetchPolicy = .cacheFirst, context: ReadContext = ReadContext()
  ) -> Observable<Snapshot<Session.ResponseData>> {
    .deferred { [self] in
      let key = try key(of: session)
      if let known = recall(key, policy) { return .just(Self.typed(known)) }
      return get(key, policy, context).map { Self.typed($0) }
    }
  }

  @usableFromInline func key(of session: some GraphQLSession) throws -> NormalizedKey {
    try NormalizedKey(session, by: client.encoder)
  }

  /// What memory has for a read that needs nothing else.
  @usableFromInline func recall(_ key: NormalizedKey, _ policy: FetchPolicy) -> Snapshot<NormalizedValue>? {
    let now = store.clock.now
    guard let (state, isStale) = store.state.withLock({ $0.recall(key, policy: policy, now: now) }) else { return nil }
    return state.snapshot(state.rendered(), isStale: isStale, now: now)
  }

  @usableFromInline func get(
    _ key: NormalizedKey, _ policy: FetchPolicy, _ context: ReadContext
  ) -> Observable<Snapshot<NormalizedValue>> {
    policy.cacheRead == .never ? store.read(key, policy, context) : read(key, policy, context)
  }

  /// A cold stream of one value: the cached one if it is fresh, else the network's.
  public func cached<Session: GraphQLSession>(
    _ session: Session, context: ReadContext = ReadContext()
  ) -> Observable<Session.ResponseData> {
    get(session, .cacheFirst, context: context).compactMap(\.value)
  }

  /// A cold stream of one complete value from the network; see ``Store/fresh(_:context:)``.
  public func fresh<Session: GraphQLSession>(
    _ session: Session, context: ReadContext = ReadContext()
  ) -> Observable<Session.ResponseData> {
    get(session, .networkOnly, context: context).compactMap { snapshot in
      if let error = snapshot.errors.first { throw error }
      return snapshot.value
    }
  }

  /// What is cached of an operation; `nil` if something is missing. Makes no request, and does not count as a read.
  /// - Parameters:
  ///   - session: The operation.
  ///   - allowsPartial: Whether a part of it is given, too, as by ``stream(_:_:context:allowsPartial:)``.
  public func peek<Session: GraphQLSession>(
    _ session: Session, allowsPartial: Bool = false
  ) -> Snapshot<Session.ResponseData>? {
    guard let key = try? NormalizedKey(session, allowsPartial ? .partial : .whole, by: client.encoder) else {
      return nil
    }
    return peek(key).map(Self.typed)
  }

  /// The path of the first field that is missing to read an operation, such as `issue.title`; `nil` if nothing is.
  public func missingPath(of session: some GraphQLSession) -> String? {
    guard let key = try? NormalizedKey(session, by: client.encoder), var plan = try? plan(of: key),
      let missing = try? records.withLockUnchecked({ try .some($0.missing(&plan)) })
    else { return "" }
    return missing?.map(\.description).joined(separator: ".")
  }

  /// What is cached of a fragment, the first of a document, for one entity; `nil` if something is missing.
  public func peek<Value: Decodable & Sendable>(
    _ type: Value.Type, _ fragment: GraphQLDocument, of entity: EntityID
  ) -> Snapshot<Value>? {
    let key = NormalizedKey(FragmentSource<Value>(document: fragment, entity: entity))
    return peek(key).map(Self.typed)
  }

  /// A live stream of a fragment's values, the first of a document, for one entity: the cached one, then each new one. It
  /// makes no request, never fails, and completes as ``stream(_:_:context:allowsPartial:)`` does.
  public func values<Value: Decodable & Sendable>(
    _ type: Value.Type, _ fragment: GraphQLDocument, of entity: EntityID
  ) -> Observable<Value> {
    .deferred { [self] in
      values(NormalizedKey(FragmentSource<Value>(document: fragment, entity: entity)))
    }
  }

  // MARK: Keys

  private func stream<Value>(
    _ key: NormalizedKey, _ policy: FetchPolicy, _ context: ReadContext
  ) -> Observable<Snapshot<Value>> {
    snapshots(of: key, policy, context).map(Self.typed)
  }

  func snapshots(
    of key: NormalizedKey, _ policy: FetchPolicy, _ context: ReadContext
  ) -> Observable<Snapshot<NormalizedValue>> {
    holding(key) { [store] in store.stream(key, policy, context: context) }
  }

  private func values<Value>(_ key: NormalizedKey) -> Observable<Value> {
    holding(key) { [store] in
      store.stream(key, .cacheOnly)
        .compactMap(\.value)
        .distinctUntilChanged { $0.json == $1.json }
        .compactMap { $0.value as? Value }
    }
  }

  func read(
    _ key: NormalizedKey, _ policy: FetchPolicy, _ context: ReadContext
  ) -> Observable<Snapshot<NormalizedValue>> {
    holding(key) { [store] in store.read(key, policy, context) }
  }

  func peek(_ key: NormalizedKey) -> Snapshot<NormalizedValue>? {
    guard records.withLock({ $0.knows(key) }) else { return nil }
    // In use, so that a change that comes meanwhile does not drop what is read.
    store.perform { $0.acquire(key) }
    defer { store.perform { $0.release(key) } }
    load(key)
    return store.peek(key)
  }

  /// A stream during which a key's changes are noticed, also while something is missing.
  private func holding<Element>(
    _ key: NormalizedKey, _ stream: @escaping @Sendable () -> Observable<Element>
  ) -> Observable<Element> {
    .create { [self] observer in
      store.perform { $0.acquire(key) }
      let lease = load(key)
      let subscription = stream().subscribe(observer)
      return Disposables.create([
        subscription,
        Disposables.create { [store] in
          withExtendedLifetime(lease) {}
          store.perform { $0.release(key) }
        },
      ])
    }
  }

  /// Inlinable, so that the type is known where it is read: a fifth of a warm read was spent on finding it out.
  @inlinable
  static func typed<Value>(_ snapshot: Snapshot<NormalizedValue>) -> Snapshot<Value> {
    var typed = Snapshot(
      value: snapshot.value?.value as? Value,
      source: snapshot.value?.isOptimistic == true ? .optimistic : snapshot.source, age: snapshot.age,
      isStale: snapshot.isStale, isPartial: snapshot.isPartial || snapshot.value?.isPartial == true,
      errors: snapshot.errors,
      isFetching: snapshot.isFetching)
    typed.stamp = snapshot.stamp
    return typed
  }

  /// Reads a key from the records, if memory has no value of it. Returns what keeps its dependencies.
  @discardableResult
  func load(_ key: NormalizedKey) -> ReadLease? {
    // In use, so that a change that comes meanwhile is projected onto what is read here.
    let held = store.perform { state -> CachedValue<NormalizedValue>? in
      state.acquire(key)
      return state.held(key)
    }
    defer { store.perform { $0.release(key) } }
    if let held { return held.value.lease }
    var lease: ReadLease?
    // Who reads the key for a change that comes meanwhile may show it only later. Not without end, since after the end of
    // the store nothing is shown.
    for _ in 0..<10 {
      guard let reading = try? read(key) else { return nil }
      lease = reading.lease
      let steps = ValueSteps()
      let isShown = project(reading, in: steps)
      store.endOffTask(steps)
      if isShown { break }
    }
    return lease
  }

  func read(_ key: NormalizedKey) throws -> NormalizedRecords.Reading {
    let plan = try plan(of: key)
    return try records.change { try $0.read(key, plan) }
  }

  /// Decodes what the records gave.
  func value(of reading: NormalizedRecords.Reading, _ json: PaddedBytes) throws -> NormalizedValue {
    NormalizedValue(
      value: try reading.key.source.value(of: json, by: client.decoder), number: reading.number,
      json: json,
      isOptimistic: reading.isOptimistic, isPartial: !reading.isComplete, lease: reading.lease)
  }
}
