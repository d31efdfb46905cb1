public import GraphQLClient
import HTTPClientCore
public import Streams
public import StrictJSON
import SystemBase

/// What changes the server, and what a change shows until the server has answered.
extension NormalizedStore {
  /// A cold stream that changes something on the server. The response is written into the records: what it has of an
  /// entity shows at once wherever the entity is shown, and no closure says where that is.
  ///
  ///     store.mutate(CloseIssue(variables: .init(id: "7")), optimisticResponse: ["closeIssue": ["id": "7", "state": "CLOSED"]])
  ///
  /// Until the response comes, the optimistic one is shown, as a layer over what the records have; layers of several
  /// mutations end in any order. The response to a query that was sent before the mutation does not replace what the
  /// mutation has brought; where a query or mutation that was sent later is answered first, or something was pushed
  /// meanwhile, the operations that show what both have are invalidated. A failure, or disposing, removes the layer; a
  /// refusal means what that of a query does.
  /// - Parameters:
  ///   - session: The mutation.
  ///   - optimisticResponse: The `data` to be shown, as JSON. `__typename` may be left out where ``RecordSchema`` knows
  ///     the type.
  ///   - updates: Changes what a response cannot know, such as a list that an entity is new in: once for the optimistic
  ///     response, and once for the server's, whichever is passed. It is called without a lock held. What it throws
  ///     fails the mutation before that is sent; later, it is ignored, since the server has made the change. It is
  ///     called again, on any thread, when what it was made of is another: a mutation that has added to the same list has
  ///     ended, or the list has come again, which may have what is to be added already.
  public func mutate<Session: GraphQLSession>(
    _ session: Session, optimisticResponse: JSONValue? = nil,
    updates: (@Sendable (Session.ResponseData, NormalizedEdits) throws -> Void)? = nil
  ) -> Observable<Session.ResponseData> {
    .create { [self] observer in
      if let ending = store.perform({ $0.ending }) {
        observer.onError(ending)
        return Disposables.create()
      }
      let (change, number) = (records.withLock { $0.begin() }, store.perform { $0.nextNumber() })
      let key: NormalizedKey
      do {
        key = try NormalizedKey(session, by: client.encoder)
        if let optimisticResponse { try show(optimisticResponse, of: session, key, change, updates) }
      } catch {
        // The server has refused nothing.
        end(change)
        observer.onError(error)
        return Disposables.create()
      }
      let request = send(session, key).first(orFail: StoreError.noResponse).subscribe(
        onNext: { [self] response in
          let steps = ValueSteps()
          do {
            let data = try accept(response, of: session, key, change, number, updates, in: steps)
            call { [store] in
              store.endOffTask(steps)
            } then: { [self] in
              whenWritten {
                observer.onNext(data)
                observer.onCompleted()
              }
            }
          } catch {
            store.endOffTask(steps)
            reject(change, error, observer)
          }
        },
        onError: { [self] error in reject(change, error, observer) })
      return Disposables.create([Disposables.create { [self] in end(change) }, request])
    }
  }

  /// Like `mutate(_:optimisticResponse:updates:)`, for data that can be written as JSON.
  public func mutate<Session: GraphQLSession>(
    _ session: Session, optimisticResponse: Session.ResponseData,
    updates: (@Sendable (Session.ResponseData, NormalizedEdits) throws -> Void)? = nil
  ) -> Observable<Session.ResponseData> where Session.ResponseData: Encodable {
    .deferred { [self] in
      mutate(session, optimisticResponse: try json(of: optimisticResponse), updates: updates)
    }
  }

  /// Shows an optimistic response as a layer; nothing of it if the closure throws.
  func show<Session: GraphQLSession>(
    _ response: JSONValue, of session: Session, _ key: NormalizedKey, _ change: NormalizedRecords.Change,
    _ updates: (@Sendable (Session.ResponseData, NormalizedEdits) throws -> Void)?
  ) throws {
    let plan = try plan(of: key)
    let json = try ResponseCompletion(plan).bytes(response)
    let edits = NormalizedEdits(self, change, isOptimistic: true)
    let make = { @Sendable [decoder = client.decoder] (edits: NormalizedEdits) in
      try edits.writeResponse(json, of: plan)
      try updates?(try SessionSource(session: session).data(of: json, by: decoder), edits)
    }
    // What waits outlives the removal of everything.
    records.withLock { records in
      if updates != nil || records.isWaiting(change) { records.keepRebase(of: change, isOptimistic: true, make) }
    }
    let made = Result { try make(edits) }
    let steps = ValueSteps()
    commit(in: steps) { records, changes in
      records.endFirstMaking(of: change, isOptimistic: true)
      changes += edits.end().changes
      if case .failure = made { changes += records.hide(change) }
    }
    store.endOffTask(steps)
    try made.get()
  }

  /// Writes the response in the place of what was shown until then.
  private func accept<Session: GraphQLSession>(
    _ response: GraphQLResponse<PaddedBytes>, of session: Session, _ key: NormalizedKey,
    _ change: NormalizedRecords.Change, _ number: UInt64,
    _ updates: (@Sendable (Session.ResponseData, NormalizedEdits) throws -> Void)?, in steps: ValueSteps
  ) throws -> Session.ResponseData {
    _ = try response.errors(acceptedBy: session.errorPolicy)
    let data = try SessionSource(session: session).data(of: response.data, by: client.decoder)
    let ending = accept(
      response.data, errors: response.recordErrors, of: session, key, change, number, updates, in: steps)
    if let ending { throw ending }
    collectIfNeeded()
    return data
  }

  /// Writes the data of a response in the place of what was shown until then; returns why the store has ended, if it
  /// has.
  /// - Parameter shown: What was shown, if that is another change.
  func accept<Session: GraphQLSession>(
    _ json: PaddedBytes, errors: [RecordErrorPath], of session: Session, _ key: NormalizedKey,
    _ change: NormalizedRecords.Change, shown: NormalizedRecords.Change? = nil, _ number: UInt64,
    _ updates: (@Sendable (Session.ResponseData, NormalizedEdits) throws -> Void)?, in steps: ValueSteps
  ) -> StoreError? {
    let edits = NormalizedEdits(self, change, isOptimistic: false, insteadOf: shown)
    // The server has made the change: the mutation does not fail if its response cannot be written.
    try? edits.writeResponse(json, of: plan(of: key), errors: errors)
    // What the closure changes is the newest there is: it changes what others have left until now.
    let update = records.withLock { $0.begin(partOf: change) }
    let updating = NormalizedEdits(self, update, isOptimistic: false, insteadOf: shown)
    if let updates {
      let make = { @Sendable [decoder = client.decoder] (edits: NormalizedEdits) in
        try updates(try SessionSource(session: session).data(of: json, by: decoder), edits)
      }
      records.withLock { $0.keepRebase(of: update, isOptimistic: false, make) }
      try? make(updating)
    }
    let guesses = commit(in: steps, updating.loss) { records, changes in
      records.endFirstMaking(of: update, isOptimistic: false)
      let (written, guesses) = edits.end()
      records.noteAnswer(change)
      for key in guesses { records.invalidate(key) }
      changes += written + updating.end().changes + records.end(change) + records.end(update)
      if let shown { changes += records.end(shown) }
      return guesses
    }
    return store.perform(in: steps) { state in
      for key in guesses { state.invalidate(key) }
      state.unhide(afterSuccessOf: number)
      return state.ending
    }
  }

  /// Stops showing a change that the server has not made.
  private func reject<Value>(
    _ change: NormalizedRecords.Change, _ error: any Error, _ observer: AnyObserver<Value>
  ) {
    let steps = ValueSteps()
    end(change, in: steps)
    let isEmptied = removeRefused(nil, error, by: change, in: steps)
    store.apply(error, of: nil, in: steps) { [self] _ in whenWritten { observer.onError(error) } }
    if isEmptied { showWaiting(in: steps) }
    store.endOffTask(steps)
  }

  /// Ends a change, and shows what is there without it.
  func end(_ change: NormalizedRecords.Change) {
    let steps = ValueSteps()
    end(change, in: steps)
    store.endOffTask(steps)
  }

  func json(of value: some Encodable) throws -> JSONValue {
    try JSONValue(json: client.encoder.encode(value).bytes)
  }
}

/// Changes of what is cached, which nobody sends.
extension NormalizedStore {
  /// Makes several changes that those who watch are shown in one step; who reads meanwhile may see only some of them. The
  /// response to a query in progress does not replace them. If the closure throws, what it has changed until then
  /// stays. The closure of an edit is called again if what it has changed is another value by then.
  public func update(_ body: (NormalizedEdits) throws -> Void) rethrows {
    let steps = ValueSteps()
    defer { store.end(steps) }
    try update(in: steps, body)
  }

  private func update(in steps: ValueSteps, _ body: (NormalizedEdits) throws -> Void) rethrows {
    let edits = NormalizedEdits(self, nil, isOptimistic: false)
    defer {
      commit(in: steps, edits.loss) { _, changes in changes += edits.end().changes }
      journal?.flushHere()
      collectIfNeeded()
    }
    try body(edits)
  }

  /// Changes what is cached of an operation, if all of it is; returns whether it is. See ``NormalizedEdits/update(_:_:)``.
  @discardableResult
  public func update<Session: GraphQLSession>(
    _ session: Session, _ change: (inout Session.ResponseData) throws -> Void
  ) throws -> Bool where Session.ResponseData: Encodable {
    var isChanged = false
    try update { isChanged = try $0.update(session, change) }
    return isChanged
  }

  /// Changes what is cached of a fragment, the first of a document, for one entity, if all of it is; returns whether it
  /// is.
  @discardableResult
  public func update<Value: Codable & Sendable>(
    _ type: Value.Type, _ fragment: GraphQLDocument, of entity: EntityID, _ change: (inout Value) throws -> Void
  ) throws -> Bool {
    var isChanged = false
    try update { isChanged = try $0.update(type, fragment, of: entity, change) }
    return isChanged
  }

  /// Writes the `data` of a response that has come by another way, such as a push, or a file.
  public func receive<Session: GraphQLSession>(_ response: JSONValue, of session: Session) throws {
    try update { try $0.write(response, of: session, isAnswer: true) }
  }

  /// The results of a subscription, which are written on their way, before observers get them. After the end of the store,
  /// the next event fails. Watchers are called on another thread, as by ``Store/follow(_:_:scheduler:change:)``.
  /// - Parameters:
  ///   - session: The subscription.
  ///   - operations: Those that show what it brings. They are invalidated whenever some of it may be missing: when it is
  ///     connected, or connected again, after results were dropped because the observer was slow, and after one that the
  ///     server could not make.
  public func follow<Session: GraphQLSubscription>(
    _ session: Session, invalidating operations: [any GraphQLSession] = []
  ) -> Observable<LiveEvent<Session.ResponseData>> {
    .deferred { [self] in
      let key = try NormalizedKey(session, by: client.encoder)
      let undecoded = UndecodedSession(session, rewritten: try document(of: key).rewritten)
      return undecoded.subscribe(on: client).map { [self] event in
        if let ending = store.perform({ $0.ending }) { throw ending }
        let steps = ValueSteps()
        defer { store.endElsewhere(steps) }
        switch event {
        case .connected, .reconnected, .dropped, .failed:
          for operation in operations { try invalidate(operation, in: steps) }
        case .value, .disconnected, .resumed: break
        }
        guard case .value(let response) = event else { return try event.map { _ in throw StoreError.noResponse } }
        _ = try response.errors(acceptedBy: session.errorPolicy)
        var plan = try plan(of: key)
        let now = store.clock.now
        update(in: steps) { edits in
          // What cannot be written may still be read by the session's own type.
          try? edits.write { records, change throws(RecordError) in
            records.noteAnswer(change)
            return try records.write(
              response.data, of: &plan, errors: response.recordErrors, by: change, saidAt: now, isOrdered: false)
          }
        }
        return .value(try SessionSource(session: session).data(of: response.data, by: client.decoder))
      }
    }
  }

  /// Marks what is cached of an operation as out of date: it is requested again for those who watch it by a policy that
  /// uses the network.
  public func invalidate(_ session: some GraphQLSession) throws {
    let steps = ValueSteps()
    defer { store.end(steps) }
    try invalidate(session, in: steps)
  }

  private func invalidate(_ session: some GraphQLSession, in steps: ValueSteps) throws {
    for form in ReadForm.allCases {
      let key = try NormalizedKey(session, form, by: client.encoder)
      records.withLock { $0.invalidate(key) }
      journal?.flushHere()
      store.perform(in: steps) { $0.invalidate(key) }
    }
  }

  /// Removes the fields of an entity, or one of them, whose name has its arguments as `comments(first:10)`. Operations that
  /// have read them keep their last value, stale, and those that are watched are requested again.
  public func invalidate(_ entity: EntityID, field: String? = nil) {
    update { $0.invalidate(entity, field: field) }
  }

  /// Removes everything. Requests in flight continue, and their responses are not kept. What waits in an outbox is still
  /// shown, as it is still to be sent.
  public func clear() async throws {
    removeRecords()
    let result: Result<Void, any Error>
    do { result = .success(try await store.clear()) } catch { result = .failure(error) }
    let steps = ValueSteps()
    showWaiting(in: steps)
    await store.endElsewhere(steps)
    try result.get()
  }

  /// Ends the store because its account ends; see ``Store/signOut()``.
  public func signOut() async throws {
    removeRecords(isEnd: true)
    try await store.signOut()
  }

  private func removeRecords(isEnd: Bool = false) {
    // Asked here, and not under the lock: it is the user's.
    let now = store.clock.now
    records.change { $0.removeAll(now: now, isEnd: isEnd) }
  }

  /// Returns when what has changed until now is on disk, if the store has a folder. Throws ``FileError`` if it is not;
  /// another call tries again.
  public func flush() async throws {
    guard let journal else { return }
    let result = await withCheckedContinuation { continuation in
      _ = ElasticScheduler().schedule { continuation.resume(returning: Result { try journal.write() }) }
    }
    try result.get()
  }

  /// Ends the store, and keeps what it has on disk; see ``Store/close()``.
  public func close() async {
    await store.close()
    if let journal {
      await withCheckedContinuation { continuation in
        _ = ElasticScheduler().schedule {
          journal.close()
          continuation.resume()
        }
      }
    }
    removeRecords(isEnd: true)
  }
}
