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
          defer { store.end(steps) }
          do {
            let fetched = try receive(response, of: session, key, change, in: steps)
            observer.onNext(fetched)
            observer.onCompleted()
          } catch {
            end(change, in: steps)
            observer.onError(error)
          }
        },
        onError: { [self] error in
          let steps = ValueSteps()
          end(change, in: steps)
          removeRefused(key, error, in: steps)
          observer.onError(error)
          store.end(steps)
        })
      return Disposables.create([
        subscription,
        Disposables.create { [self] in
          let steps = ValueSteps()
          end(change, in: steps)
          store.end(steps)
        },
      ])
    }
  }

  /// Sends an operation, with what the cache needs added to its document.
  func send<Session: GraphQLSession>(
    _ session: Session, _ key: NormalizedKey, _ context: ReadContext = ReadContext()
  ) -> Observable<GraphQLResponse<RawJSON>> {
    .deferred { [self] in
      configuration.clientForContext(client, context).send(
        UndecodedSession(session, rewritten: try document(of: key).rewritten), method: .post)
    }
  }

  /// Writes a response, ends its request, and returns what is cached of its operation then.
  private func receive<Session: GraphQLSession>(
    _ response: GraphQLResponse<RawJSON>, of session: Session, _ key: NormalizedKey,
    _ change: NormalizedRecords.Change, in steps: ValueSteps
  ) throws -> Fetched<NormalizedValue> {
    let errors = try response.errors(acceptedBy: session.errorPolicy)
    let isKept = store.state.withLock { $0.cachesResponse(of: key) }
    let now = store.clock.now
    var plan = try plan(of: key)
    let reading = commit(in: steps, except: key) { records, changes -> NormalizedRecords.Reading? in
      // What was removed since is not brought back.
      guard isKept, records.isUnderWay(change) else { return nil }
      // Of a response that does not fit the document, nothing is written: the session's own type says whether it can be
      // read.
      let written = try? records.write(response.data.bytes, of: &plan, errors: response.recordErrors, by: change)
      changes += (written ?? []) + records.end(change)
      if written == nil { return nil }
      if response.errors.isEmpty { records.noteResponse(of: key, at: now) }
      return try? records.read(key, plan)
    }
    collectIfNeeded()
    if let reading, let json = reading.json {
      // What is held is what the records have, unless that has changed.
      let held = store.state.withLock { $0.held(key)?.value }
      if let held, held.number == reading.number { return Fetched(held, errors: errors) }
      let value = try value(of: reading, json)
      // Also if the store does not keep the response, as one that a later one has overtaken: what it has brought is in
      // the records.
      project(value, of: reading, in: steps)
      return Fetched(value, errors: errors)
    }
    let value = NormalizedValue(
      value: try key.source.value(of: response.data.bytes, by: client.decoder),
      number: reading?.number ?? 0, json: response.data.bytes, isOptimistic: false, lease: reading?.lease)
    return Fetched(value, errors: errors)
  }

  /// Ends a change that has brought nothing.
  func end(_ change: NormalizedRecords.Change, in steps: ValueSteps) {
    commit(in: steps) { records, changes in changes += records.end(change) }
  }

  /// Removes what the server has refused, if that is what the failure means: what an operation begins with, or
  /// everything. What is hidden stays.
  func removeRefused(_ key: NormalizedKey?, _ error: any Error, in steps: ValueSteps) {
    let failure = RequestError(wrapping: error)
    if configuration.mayServeStale(failure) { return }
    switch configuration.effectOfFailure(failure) {
    case .keep, .hideAll: break
    case .remove:
      guard let key, var plan = try? plan(of: key) else { return }
      commit(in: steps, except: key) { records, changes in changes += (try? records.removeRoot(of: &plan)) ?? [] }
    case .removeAll:
      let now = store.clock.now
      records.withLock { $0.removeAll(now: now) }
    }
  }

  // MARK: Showing

  /// Changes the records in one step, then shows everyone who has read what was changed what has become of it.
  /// - Parameters:
  ///   - key: Whose value the caller shows.
  ///   - change: Adds the fields that it changes.
  func commit<Result: Sendable>(
    in steps: ValueSteps, except key: NormalizedKey? = nil,
    _ change: (inout NormalizedRecords, inout [RecordChange]) throws -> Result
  ) rethrows -> Result {
    let (result, readings, unwatched) = try records.withLockUnchecked { records in
      var changes: [RecordChange] = []
      let result = try change(&records, &changes)
      let (readings, unwatched) = records.readTouched(by: changes) { key in
        store.state.withLock { $0.isInUse(key) }
      }
      return (result, readings, unwatched)
    }
    for reading in readings where reading.key != key { project(reading, in: steps) }
    for key in unwatched where !store.perform(in: steps, { $0.drop(key) }) {
      // It has come into use meanwhile.
      if let reading = try? read(key) { project(reading, in: steps) }
    }
    return result
  }

  /// Shows what the records have for a key.
  func project(_ reading: NormalizedRecords.Reading, in steps: ValueSteps? = nil) {
    let key = reading.key
    if let json = reading.json, let value = try? value(of: reading, json) {
      project(value, of: reading, in: steps)
    } else if store.state.withLock({ $0.held(key) != nil }) {
      let now = store.clock.now
      let requests = records.withLock { $0.mayRequestMissing(key, now: now, pause: configuration.missPause) }
      store.perform(in: steps) { $0.lose(key, requests: requests) }
    }
  }

  private func project(_ value: NormalizedValue, of reading: NormalizedRecords.Reading, in steps: ValueSteps?) {
    var made = CachedValue(value, writtenAt: reading.freshness.writtenAt)
    made.isInvalidated = reading.freshness.isInvalidated
    store.perform(in: steps) { [made] in $0.project(value, for: reading.key, made: made) }
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
