public import Streams

extension Store {
  /// A cold stream that changes a value on the server, and shows the change at once.
  ///
  /// On subscribing, `optimistic` is laid over what is kept, and `send` is asked. The server's answer takes the place
  /// of both in one step. If a value has been kept meanwhile that was written or requested after the change began, the
  /// response may be older than that value; then the change is applied to that value instead. A failure takes the layer
  /// away, and fails the stream. Layers of several changes under way are independent: each is laid over what is kept
  /// and the layers before it, and may end in any order. Disposing takes the layer away; the server may have made the
  /// change nonetheless. A `send` that ends late, such as one that waits for a network, keeps the layer until then.
  /// - Parameters:
  ///   - key: Whose value it is.
  ///   - optimistic: What the value becomes; `nil` leaves it as it is. Called for each new value below, on any thread.
  ///   - send: Asks the server; the stream's first element is the new value.
  public func mutate(
    _ key: Key, optimistic: @escaping @Sendable (Value?) -> Value?,
    send: @escaping @Sendable () -> Observable<Value>
  ) -> Observable<Value> {
    mutate(layerKey: key, optimistic: { _, value in optimistic(value) }, send: send, keyForResponse: { _ in key })
  }

  /// The same for a change that may concern any value that is kept.
  ///
  /// Once the server has agreed, all that is kept is gone through, on the thread of its answer: what memory does not have
  /// is read from the source of truth, which takes as long as that has records.
  /// - Parameters:
  ///   - optimistic: What the value of a key becomes; `nil` where the change does not concern it.
  ///   - send: Asks the server; the stream's first element is the new value of one key.
  ///   - keyForResponse: The key of that value. In all others the change itself is kept once the server has agreed.
  public func mutateAll(
    optimistic: @escaping @Sendable (Key, Value) -> Value?, send: @escaping @Sendable () -> Observable<Value>,
    keyForResponse: @escaping @Sendable (Value) -> Key
  ) -> Observable<Value> {
    mutate(
      layerKey: nil, optimistic: { key, value in value.flatMap { optimistic(key, $0) } }, send: send,
      keyForResponse: keyForResponse)
  }

  private func mutate(
    layerKey: Key?, optimistic: @escaping @Sendable (Key, Value?) -> Value?,
    send: @escaping @Sendable () -> Observable<Value>, keyForResponse: @escaping @Sendable (Value) -> Key
  ) -> Observable<Value> {
    .create { observer in
      // Asked for again, since who is shown the change may sign out.
      guard let layer = self.addLayer(key: layerKey, optimistic), !self.perform({ $0.isSignedOut }) else {
        observer.onError(StoreError.signedOut)
        return Disposables.create()
      }
      let answer = send().take(1).subscribe(
        onNext: { value in
          self.settle(layer, value, for: keyForResponse(value)) { error in
            if let error { return observer.onError(error) }
            observer.onNext(value)
            observer.onCompleted()
          }
        },
        onError: { error in
          self.removeLayer(layer.id)
          observer.onError(error)
        },
        onCompleted: {
          // After an answer the layer is gone, and this does nothing.
          let isSignedOut = self.perform { $0.isSignedOut }
          guard self.removeLayer(layer.id) || isSignedOut else { return }
          observer.onError(isSignedOut ? StoreError.signedOut : .noResponse)
        })
      return Disposables.create([Disposables.create { self.removeLayer(layer.id) }, answer])
    }
  }

  /// Shows a change over what is kept until the layer is removed; `nil` after a sign-out.
  func addLayer(
    key: Key?, isInOrder: Bool = false, _ apply: @escaping @Sendable (Key, Value?) -> Value?
  ) -> Layer<Key, Value>? {
    perform { state in
      if state.isSignedOut { return nil }
      let layer = Layer(id: state.nextNumber(), key: key, isInOrder: isInOrder, apply: apply)
      state.add(layer)
      return layer
    }
  }

  @discardableResult
  func removeLayer(_ id: UInt64) -> Bool {
    perform { state in
      let isThere = state.layers.contains(id)
      state.removeLayer(id)
      return isThere
    }
  }

  /// Keeps the answer, and the change itself in all other values it concerns; then takes the layer away.
  func settle(
    _ layer: Layer<Key, Value>, _ answer: Value, for key: Key,
    then completion: @escaping @Sendable ((any Error)?) -> Void
  ) {
    let (id, isForOneKey) = (layer.id, layer.key != nil)
    guard configuration.isCacheable(answer), perform({ $0.beginSettling(layer) }) else {
      let isSignedOut = perform { state in
        state.removeLayer(id)
        return state.isSignedOut
      }
      return completion(isSignedOut ? StoreError.signedOut : nil)
    }
    let kept = makeCachedValue(answer)
    if !isForOneKey { keepChange(id, layer.apply, except: key) }
    let isOvertaken = perform { state in
      if state.isOvertaken(layer, for: key) { return true }
      state.settle(layer, kept: kept, for: key, completion: completion)
      state.endSettling(layer)
      return false
    }
    guard isOvertaken else { return }
    let apply: (Key, Value?) -> Value? = { layer.apply($0, $1) ?? (isForOneKey ? answer : $1) }
    if !keepChange(id, apply, in: key, isAnswered: true, then: completion) {
      perform { $0.settle(layer, kept: kept, for: key, completion: completion) }
    }
    perform { $0.endSettling(layer) }
  }

  /// Keeps a change in every value it concerns.
  private func keepChange(_ id: UInt64, _ apply: (Key, Value?) -> Value?, except exception: Key) {
    var keys = Set(perform { Array($0.entries.keys) + Array($0.memory.keys) })
    if let storage {
      do { keys.formUnion(try storage.keys()) } catch { storage.report(error) }
    }
    for key in keys where key != exception && mayConcern(key, apply) {
      _ = keepChange(id, apply, in: key, isAnswered: false) { _ in }
    }
  }

  /// Whether a change may concern what is kept for a key. What memory does not have is looked at, but gets no place there.
  private func mayConcern(_ key: Key, _ apply: (Key, Value?) -> Value?) -> Bool {
    if perform({ $0.entries[key] != nil || $0.memory.peek(key) != nil }) { return true }
    return storage?.current(key).map { apply(key, $0.value) != nil } ?? false
  }

  /// Keeps a change in a value, unless there is none, or none that it concerns; says whether it did. A partial value is
  /// left to the server's answer, where that is for the key.
  private func keepChange(
    _ id: UInt64, _ apply: (Key, Value?) -> Value?, in key: Key, isAnswered: Bool,
    then completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> Bool {
    perform { $0.acquire(key) }
    defer { perform { $0.release(key) } }
    _ = load(key)
    while true {
      let now = clock.now
      let (current, version) = perform { ($0.current(key, now: now), $0.entries[key]?.version ?? 0) }
      guard let current, !isAnswered || !current.isPartial, let value = apply(key, current.value) else {
        if isAnswered || perform({ $0.outdateFetch(key, version: version) }) { return false }
        continue
      }
      let kept = changed(current, to: value)
      let isDone = perform {
        $0.settle(id, changed: kept, for: key, version: version, completion: completion)
      }
      if isDone { return true }
    }
  }
}
