import GraphQLClient
import HTTPClientCore
import Streams
import StrictJSON
import SystemBase

/// How responses get into the records, and from there to everyone who has read what they changed.
extension NormalizedStore {
  typealias ValueSteps = Steps<NormalizedKey, NormalizedValue>

  /// A cold stream of the response to an operation, for the store of values: it is written into the records, and read
  /// from them again.
  func fetch<Session: GraphQLSession>(
    _ session: Session, _ key: NormalizedKey, _ context: ReadContext
  ) -> Observable<Fetched<NormalizedValue>> {
    .create { [self] observer in
      let change = records.withLock { $0.begin() }
      let subscription = send(session, key, context).subscribe(
        onNext: { [self] response in
          // The others' values are there before this operation's watchers see theirs, and are shown after that.
          let steps = ValueSteps()
          do {
            let (fetched, later) = try receive(response, of: session, key, change, in: steps)
            whenWritten { [self] in
              call {
                observer.onNext(fetched)
                observer.onCompleted()
              } then: { [self] in
                if let later { project(later, in: steps) }
                store.end(steps)
              }
            }
          } catch {
            fail(key, error, change, in: steps, observer)
          }
        },
        onError: { [self] error in fail(key, error, change, in: ValueSteps(), observer) })
      return Disposables.create([
        subscription,
        Disposables.create { [self] in
          let steps = ValueSteps()
          end(change, in: steps)
          store.endOffTask(steps)
        },
      ])
    }
  }

  private func fail<Value>(
    _ key: NormalizedKey, _ error: any Error, _ change: NormalizedRecords.Change, in steps: ValueSteps,
    _ observer: AnyObserver<Value>
  ) {
    let isEmptied = removeRefused(key, error, by: change, in: steps)
    end(change, in: steps)
    whenWritten { [self] in
      call {
        observer.onError(error)
      } then: { [self] in
        if isEmptied { showWaiting(in: steps) }
        store.end(steps)
      }
    }
  }

  /// Calls observers, then others: also if one of the first stalls.
  func call(_ first: @escaping @Sendable () -> Void, then next: @escaping @Sendable () -> Void) {
    store.runner.run([first, next].map { EffectRunner.Action(mayStall: true, run: $0) })
  }

  /// Continues when what has changed until now is on disk, if there is one.
  func whenWritten(_ action: @escaping @Sendable () -> Void) {
    if let journal { journal.flush(then: action) } else { action() }
  }

  /// Sends an operation, with what the cache needs added to its document.
  func send<Session: GraphQLSession>(
    _ session: Session, _ key: NormalizedKey, _ context: ReadContext = ReadContext()
  ) -> Observable<GraphQLResponse<PaddedBytes>> {
    .deferred { [self] in
      configuration.clientForContext(client, context).send(
        UndecodedSession(session, rewritten: try document(of: key).rewritten), method: .post)
    }
  }

  /// Writes a response, ends its request, and returns what is cached of its operation then; and a read that is to be
  /// shown after that: one from which something is missing that the response has, if what began later has hidden it, or
  /// what others have changed meanwhile.
  private func receive<Session: GraphQLSession>(
    _ response: GraphQLResponse<PaddedBytes>, of session: Session, _ key: NormalizedKey,
    _ change: NormalizedRecords.Change, in steps: ValueSteps
  ) throws -> (Fetched<NormalizedValue>, later: NormalizedRecords.Reading?) {
    let errors = try response.errors(acceptedBy: session.errorPolicy)
    var isKept: Bool { store.state.withLock { $0.cachesResponse(of: key) } }
    func value(lease: ReadLease?, number: UInt64) throws -> Fetched<NormalizedValue> {
      let value = NormalizedValue(
        value: try key.source.value(of: response.data, by: client.decoder), number: number,
        json: response.data, isOptimistic: false, lease: lease)
      return Fetched(value, errors: errors)
    }
    if !isKept {
      let fetched = try value(lease: nil, number: 0)
      // Somebody who wants it cached may have joined meanwhile.
      if !isKept { return (fetched, nil) }
    }
    let now = store.clock.now
    var plan = try plan(of: key)
    var (isWhole, isNoted) = (false, false)
    var reading = commit(in: steps, except: key) { records, changes -> NormalizedRecords.Reading? in
      // What was removed since is not brought back.
      guard records.isInProgress(change) else { return nil }
      // Of a response that does not fit the document, nothing is written: the session's own type says whether it can be
      // read.
      let isRepeated = records.isRepeated(response, of: key, by: change)
      let written =
        isRepeated
        ? []
        : try? records.write(
          response.data, of: &plan, errors: response.recordErrors, by: change, saidAt: now)
      if records.hasLayers, response.errors.isEmpty {
        isWhole = (try? records.json(&plan, at: nil, upTo: change.number)) ?? nil != nil
      }
      if written != nil { records.noteAnswer(change) }
      // Not appended: of a first response, there are thousands.
      changes = written ?? []
      let ended = records.end(change)
      if !ended.isEmpty { changes += ended }
      if written == nil { return nil }
      if response.errors.isEmpty {
        records.noteResponse(of: key, to: change, at: now)
        isNoted = true
      }
      let reading = try? records.read(key, after: changes, of: response.data, plan)
      if !isRepeated { records.noteWritten(response, of: key) }
      return reading
    }
    if isNoted { confirmOtherForm(of: key, in: steps) }
    collectIfNeeded()
    // Layers may have been made again.
    if let read = reading, !records.withLock({ $0.isLatest(read) }) { reading = (try? self.read(key)) ?? read }
    if let reading, reading.isComplete, let json = reading.json {
      // What is held is what the records have, unless that has changed.
      let held = store.state.withLock { $0.held(key)?.value }
      if let held, held.number == reading.number { return (Fetched(held, errors: errors), nil) }
      let value = try self.value(of: reading, json)
      // Also if the store does not keep the response, as one that a later one has overtaken: what it has brought is in
      // the records.
      let isLatest = project(value, of: reading, in: steps, .requested)
      // What is read is to be shown: others leave that to who has read it.
      return (Fetched(value, errors: errors), isLatest ? nil : try? read(key))
    }
    return (try value(lease: reading?.lease, number: reading?.number ?? 0), isWhole ? reading : nil)
  }

  /// Lets what memory has of an operation in another form be as young as its latest response, which said nothing else.
  private func confirmOtherForm(of key: NormalizedKey, in steps: ValueSteps) {
    guard let other = key.otherForm else { return }
    var garbage: [Any] = []
    records.withLockUnchecked { records in
      guard let number = records.currentNumber(of: other) else { return }
      let known = records.freshness(of: key)
      store.perform(in: steps, keeping: &garbage) { state in
        state.confirm(other, at: known.writtenAt, isInvalidated: known.isInvalidated) { $0.number == number }
      }
    }
    garbage = []
  }

  /// Ends a change that has brought nothing.
  func end(_ change: NormalizedRecords.Change, in steps: ValueSteps) {
    commit(in: steps, .withdrawn) { records, changes in changes += records.end(change) }
  }

  /// Removes what the server has refused, if that is what the failure means: what an operation begins with, or
  /// everything. What is hidden stays.
  /// - Returns: Whether everything was removed: then, once the values are, what waits is to be shown.
  func removeRefused(
    _ key: NormalizedKey?, _ error: any Error, by change: NormalizedRecords.Change, in steps: ValueSteps
  ) -> Bool {
    let failure = RequestError(wrapping: error)
    if configuration.mayServeStale(failure) { return false }
    switch configuration.effectOfFailure(failure) {
    case .keep, .hideAll: break
    case .remove:
      guard let key, var plan = try? plan(of: key) else { return false }
      commit(in: steps, except: key, .removed) { records, changes in
        changes += (try? records.removeRoot(of: &plan, by: change)) ?? []
      }
    case .removeAll:
      let now = store.clock.now
      records.change { $0.removeAll(now: now) }
      return true
    }
    return false
  }

  /// Shows what waits after everything was removed, the values, too.
  func showWaiting(in steps: ValueSteps) {
    commit(in: steps) { _, _ in }
    // What others have made again before that went with the values.
    if records.withLock({ $0.hasLayers }) { showMissing(in: steps) }
  }

  /// Shows what the records have of keys that are in use, and of which there are no values.
  private func showMissing(in steps: ValueSteps) {
    for key in store.state.withLock({ state in state.entries.keys.filter { state.held($0) == nil } }) {
      if let reading = try? read(key) { project(reading, in: steps) }
    }
  }

  // MARK: Showing

  /// Shows what other processes have written; returns what calls watchers.
  func show(_ received: NormalizedRecords.Received) -> @Sendable () -> Void {
    let steps = ValueSteps()
    show(received, in: steps)
    return { [self] in
      store.end(steps)
      collectIfNeeded()
    }
  }

  func show(_ received: NormalizedRecords.Received, in steps: ValueSteps) {
    if !received.refused.isEmpty { commit(in: steps, .removed) { _, changes in changes += received.refused } }
    commit(in: steps) { _, changes in changes += received.changes }
    if received.isRemoval {
      store.perform(in: steps) { $0.forgetAll() }
      showMissing(in: steps)
    }
    for key in received.refreshed {
      guard let reading = try? read(key) else { continue }
      let date = records.withLock { $0.freshness(of: key).writtenAt }
      store.perform(in: steps) { $0.makeYounger(key, writtenAt: date) }
      project(reading, in: steps)
    }
    for key in received.invalidated where records.withLock({ $0.freshness(of: key).isInvalidated }) {
      store.perform(in: steps) { $0.invalidate(key) }
    }
  }

  /// What becomes of a value when something of it is missing.
  enum Loss {
    /// It stays, out of date, and is requested again, unless that was done only just now: then after a pause.
    case requested
    /// It stays, out of date, and is requested again at once, since somebody wants that.
    case requestedAtOnce
    /// It goes, since the server has refused it.
    case removed
    /// It goes, and is requested again at once, if it shows what is optimistic, since that is no longer shown; else it stays,
    /// as if it were `requested`.
    case withdrawn
  }

  /// Changes the records in one step, then shows everyone who has read what was changed what has become of it.
  /// - Parameters:
  ///   - key: Whose value the caller shows.
  ///   - loss: What becomes of the values that lack something then.
  ///   - change: Adds the fields that it changes.
  func commit<Result: Sendable>(
    in steps: ValueSteps, except key: NormalizedKey? = nil, _ loss: Loss = .requested,
    _ change: (inout NormalizedRecords, inout [RecordChange]) throws -> Result
  ) rethrows -> Result {
    var garbage: [Any] = []
    var changes: [RecordChange] = []
    func readings(_ records: inout NormalizedRecords) -> [NormalizedRecords.Reading] {
      records.readTouched(by: changes) { key in
        !store.perform(in: steps, keeping: &garbage) { $0.drop(key) }
      }
    }
    var (result, touched) = try records.change { records -> (Result, [NormalizedRecords.Reading]?) in
      let result = try change(&records, &changes)
      guard records.hasDueRebases else { return (result, readings(&records)) }
      records.noteUnread(changes)
      return (result, nil)
    }
    if touched == nil {
      rebase(&changes)
      touched = records.change { readings(&$0) }
    }
    garbage = []
    for reading in touched ?? [] where reading.key != key { project(reading, in: steps, loss) }
    return result
  }

  /// Makes layers again that closures have made of what has changed since, the lowest first. Not without end, should a
  /// closure change what it is made of: each once, as a rule, and some again.
  private func rebase(_ changes: inout [RecordChange]) {
    for _ in 0..<records.withLock({ $0.rebaseCount }) + 100 {
      guard let rebase = records.withLock({ $0.beginRebase() }) else { return }
      let edits = NormalizedEdits(self, again: rebase)
      try? rebase.run(edits)
      _ = edits.end()
      changes += records.change { $0.endRebase(rebase) }
    }
  }

  /// Shows what the records have for a key, unless it was read again since, or everything was removed; returns whether
  /// it was not.
  @discardableResult
  func project(_ reading: NormalizedRecords.Reading, in steps: ValueSteps, _ loss: Loss = .requested) -> Bool {
    project(reading.json.flatMap { try? value(of: reading, $0) }, of: reading, in: steps, loss)
  }

  /// Shows a value that was decoded from a read; if it is `nil`, that something is missing. Does nothing if the key was
  /// read again since, or everything was removed; returns whether it was not.
  private func project(
    _ value: NormalizedValue?, of reading: NormalizedRecords.Reading, in steps: ValueSteps, _ loss: Loss
  ) -> Bool {
    let (key, now, pause) = (reading.key, store.clock.now, configuration.missPause)
    var garbage: [Any] = []
    var retryDelay: Duration?
    // Under the lock of the records, so that what is shown is in the order of their changes.
    let isLatest = records.withLockUnchecked { records in
      guard records.isLatest(reading) else { return false }
      let known = records.freshness(of: key)
      store.perform(in: steps, keeping: &garbage) { state in
        if let value {
          var made = CachedValue(value, writtenAt: known.writtenAt)
          made.isInvalidated = known.isInvalidated || value.isPartial
          state.project(value, for: key, made: made)
          if !value.isPartial { return }
        }
        guard let held = state.held(key) else { return }
        if loss == .removed { return state.remove(key) }
        if loss == .withdrawn, value == nil, held.value.isOptimistic { return state.withdraw(key) }
        let delay = loss == .requestedAtOnce ? .zero : records.missDelay(of: key, now: now, pause: pause)
        if state.lose(key, requests: delay == .zero) {
          if loss != .requestedAtOnce { records.noteMissRequest(of: key, now: now, pause: pause) }
        } else if delay > .zero, state.isRequestable(key), records.setAwaitsRetry(true, of: key) {
          retryDelay = delay
        }
      }
      return true
    }
    garbage = []
    if let retryDelay {
      _ = store.clock.scheduler.schedule(after: retryDelay) { [weak self] in self?.retry(key) }
    }
    return isLatest
  }

  /// Requests a key after a pause, if something is still missing, and no response has come since.
  private func retry(_ key: NormalizedKey) {
    guard records.withLock({ $0.setAwaitsRetry(false, of: key) }),
      store.state.withLock({ $0.isInUse(key) && $0.held(key)?.isInvalidated == true }),
      let reading = try? read(key)
    else { return }
    let steps = ValueSteps()
    if !reading.isComplete || !reading.isSame { project(reading, in: steps) }
    store.end(steps)
  }
}

extension GraphQLResponse {
  /// The errors as a store takes them; throws what the policy does not accept.
  func errors(acceptedBy policy: GraphQLErrorPolicy) throws -> [any Error] {
    guard let error else { return [] }
    switch policy {
    case .none: throw error
    case .ignore: return []
    case .all: return [error]
    }
  }

  /// The paths of the errors, for the records.
  var recordErrors: [RecordErrorPath] {
    errors.map { error in
      let steps = error.path.map { element in
        switch element {
        case .key(let key): RecordStep.key(key)
        case .index(let index): RecordStep.index(index)
        }
      }
      // Only so many steps and bytes of a path are kept: one that is as long may be anywhere below. One without a path
      // may be anywhere.
      let bytes = error.path.reduce(0) { sum, step in
        if case .key(let key) = step { sum + key.utf8.count } else { sum + 8 }
      }
      let isCut = steps.isEmpty || steps.count >= 32 || bytes >= 256
      return RecordErrorPath(steps, isCut: isCut)
    }
  }
}
