import GraphQLClient
import HTTPClientCore
public import Streams
import SystemBase

extension Store {
  /// A cold stream that changes something on the server, and shows the change at once.
  ///
  ///     users.mutate(.of("7") { user in user?.renamed("Mei") }) { RenameUser(id: "7", name: "Mei").put(on: client) }
  ///
  /// On subscription, the change is added as a layer over cached values, and `send` is subscribed to. The response
  /// replaces both in one step. If a value has been cached meanwhile that was written or requested after the change
  /// began, the response may be older than that value; then the change is applied to that value instead, and the result
  /// is stale: it is requested again for its watchers, as by `invalidate(_:)`. A failure removes the layer, and fails
  /// the stream. Layers of several pending changes are independent: each is applied to the cached value and the layers
  /// before it, and they may end in any order. Disposing removes the layer; the server may have made the change
  /// nonetheless, so `invalidate(_:)` the key if it matters. A `send` that ends late, such as one that waits for a
  /// network, keeps the layer until then.
  ///
  /// Once the server has accepted a change that may affect any value, it is applied to every cached value, on the
  /// thread of the response. Values that are not in memory are read from the source of truth, so this takes time in
  /// proportion to its number of records.
  /// - Parameters:
  ///   - change: What is shown, and where the response belongs.
  ///   - send: Makes the request; the stream's first element is the response.
  public func mutate<Response: Sendable>(
    _ change: StoreChange<Key, Value, Response>, send: @escaping @Sendable () -> Observable<Response>
  ) -> Observable<Response> {
    .create { observer in
      // Checked again, since a watcher that is shown the change may sign out.
      let steps = Steps<Key, Value>()
      let layer = self.addLayer(change, in: steps)
      self.endOffTask(steps)
      guard let layer, self.ending == nil else {
        observer.onError(self.ending ?? .signedOut)
        return Disposables.create()
      }
      let request = send().first(
        orFail: self.ending ?? .noResponse
      ).subscribe(
        onNext: { response in
          self.commit(layer, response: change.valueInResponse(response)) { error in
            if let error { return observer.onError(error) }
            observer.onNext(response)
            observer.onCompleted()
          }
        },
        onError: { error in self.reject(layer, error) { _ in observer.onError(error) } })
      return Disposables.create([Disposables.create { self.removeLayer(layer.id) }, request])
    }
  }

  /// Why the store has ended; `nil` while it has not.
  private var ending: StoreError? { perform { $0.ending } }

  /// Shows a change over cached values until it is removed or committed; returns `nil` after the store's end.
  /// - Parameter isInOrder: Whether changes of this kind are sent one after the other.
  func addLayer<Response>(
    _ change: StoreChange<Key, Value, Response>, isInOrder: Bool = false, in steps: Steps<Key, Value>
  ) -> Layer<Key, Value>? {
    perform(in: steps) { state in
      if state.ending != nil { return nil }
      let layer = Layer(id: state.nextNumber(), key: change.key, isInOrder: isInOrder, apply: change.apply)
      state.add(layer)
      return layer
    }
  }

  /// Stops showing a change, unless it is being committed.
  private func removeLayer(_ id: UInt64) {
    let steps = Steps<Key, Value>()
    perform(in: steps) { $0.removeLayer(id) }
    endOffTask(steps)
  }
}

/// A change that the server has accepted becomes a part of the cached values.
extension Store {
  /// Rebases the change onto every other cached value that it affects, then caches the response in the place of both
  /// the cached value and the change. If a newer value supersedes the response, the change is rebased onto that, too.
  /// The completion is called once, with the error if the store has ended.
  func commit(_ layer: Layer<Key, Value>, response: (key: Key, value: Value)?, completion: @escaping WriteCompletion) {
    let steps = Steps<Key, Value>()
    commit(layer, response: response, in: steps, completion: completion)
    endOffTask(steps)
  }

  /// Commits a change as a part of one in several steps, whose effects are carried out after the last one.
  func commit(
    _ layer: Layer<Key, Value>, response: (key: Key, value: Value)?, in steps: Steps<Key, Value>,
    completion: @escaping WriteCompletion
  ) {
    let isCacheable = response.map { configuration.isCacheable($0.value) } ?? true
    guard isCacheable, perform(in: steps, { $0.beginCommit(of: layer.id) }) else {
      perform(in: steps) { $0.removeLayer(layer.id) }
      return completion(ending)
    }
    // Failures of writes are reported elsewhere.
    let writes = WriteGroup { [self] _ in completion(ending) }
    defer { writes.close() }
    if layer.key == nil {
      let known = knownKeys()
      invalidateShared(layer, except: known.union(response.map { [$0.key] } ?? []), writes.add())
      for key in known where key != response?.key && mayAffect(key, layer) {
        let written = writes.add()
        rebase(key, writes, in: steps) {
          layer.apply(key, $0.value)
        } commit: {
          $0.commit(layer, rebased: $1, for: key, version: $2, completion: written)
        }
      }
    }
    guard let response else { return perform(in: steps) { $0.endLayer(layer.id) } }
    let (key, value) = (response.key, makeCachedValue(response.value))
    let written = writes.add()
    let isCommitted = perform(in: steps) { $0.commit(layer, response: value, for: key, completion: written) }
    if isCommitted { return }
    rebase(key, writes, in: steps) { newer in
      // A partial value is no better than the response.
      newer.isPartial ? nil : layer.apply(key, newer.value) ?? (layer.key == nil ? newer.value : response.value)
    } commit: {
      $0.commit(layer, supersededResponse: value, rebased: $1, for: key, version: $2, completion: written)
    }
  }

  /// Marks the values that only an asynchronous source of truth has, and that a change affects, as out of date. They
  /// are not changed there, since other processes may be changing them.
  private func invalidateShared(
    _ layer: Layer<Key, Value>, except known: Set<Key>, _ completion: @escaping WriteCompletion
  ) {
    guard let shared = storage.shared else { return completion(nil) }
    shared.keys { keys in
      let invalidations = WriteGroup(then: completion)
      for key in keys.subtracting(known) {
        let invalidated = invalidations.add()
        shared.read(key) { reading in
          switch reading {
          case .found(let stored) where layer.apply(key, stored.value) != nil:
            self.invalidate(key, completion: invalidated)
          case .found, .missing: invalidated(nil)
          case .failed:
            shared.suspect(key)
            invalidated(nil)
          }
        }
      }
      invalidations.close()
    }
  }

  /// Whether a change may affect the cached value of a key. A value that is not in memory is read, but not put there.
  private func mayAffect(_ key: Key, _ layer: Layer<Key, Value>) -> Bool {
    if perform({ $0.entries[key] != nil || $0.memory.peek(key) != nil }) { return true }
    switch storage.queue?.read(key) {
    case .found(let stored): return layer.apply(key, stored.value) != nil
    case .missing, nil: return false
    case .failed:
      storage.queue?.suspect(key)
      return false
    }
  }

  /// Stops showing a change that the server has not accepted. A refusal has the effect of one of a request; it
  /// completes when that is in the source of truth.
  func reject(_ layer: Layer<Key, Value>, _ error: any Error, completion: @escaping WriteCompletion) {
    let steps = Steps<Key, Value>()
    reject(layer, error, in: steps, completion: completion)
    endOffTask(steps)
  }

  /// Rejects a change as a part of one in several steps, whose effects are carried out after the last one.
  func reject(
    _ layer: Layer<Key, Value>, _ error: any Error, in steps: Steps<Key, Value>, completion: @escaping WriteCompletion
  ) {
    perform(in: steps) { $0.removeLayer(layer.id) }
    apply(error, of: layer.key, in: steps, completion: completion)
  }

  /// Carries out the effect of a refusal of a mutation: of a key, or of all.
  func apply(_ error: any Error, of key: Key?, in steps: Steps<Key, Value>, completion: @escaping WriteCompletion) {
    let failure = RequestError(wrapping: error)
    guard !configuration.mayServeStale(failure), failure.isUnauthenticated || failure.isForbidden else {
      return completion(nil)
    }
    let effect = configuration.effectOfFailure(failure)
    perform(in: steps) { $0.apply(effect, of: key, completion: completion) }
  }

  /// Applies a change to the cached value of a key, and commits the result: again if another write has come between.
  /// - Parameters:
  ///   - writes: Whom an invalidation is added to, if only the source of truth may have a value: an asynchronous one, or
  ///     one that could not be read.
  ///   - steps: The change that this is a step of, if it has others.
  ///   - change: The changed value; `nil` if the change does not affect it.
  ///   - commit: Gets the changed value, or `nil` if there is none, and the version that it was made from. Returns
  ///     whether that is still the current one; if not, it must do nothing.
  func rebase(
    _ key: Key, _ writes: WriteGroup, in steps: Steps<Key, Value>? = nil,
    _ change: (CachedValue<Value>) throws -> Value?,
    commit: (inout StoreState<Key, Value>, CachedValue<Value>?, _ version: UInt64) -> Bool
  ) rethrows {
    perform { $0.acquire(key) }
    defer { perform { $0.release(key) } }
    load(key)
    perform(in: steps) { state in
      if state.mayHaveUnread(key) { state.invalidateUnread(key, completion: writes.add()) }
    }
    while true {
      let now = clock.now
      let (current, version) = perform(in: steps) {
        ($0.current(key, now: now, evenHidden: true), $0.entries[key]?.version ?? 0)
      }
      var changed = current
      if let current {
        if let value = try change(current) {
          // The age stays the server's: a local change makes nothing newer.
          changed?.value = value
          changed?.cost = configuration.cost(value)
        } else {
          changed = nil
        }
      }
      if perform(in: steps, { commit(&$0, changed, version) }) { return }
    }
  }
}
