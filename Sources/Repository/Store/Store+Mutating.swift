public import Streams

extension Store {
  /// A cold stream that changes a value on the server, and shows the change at once.
  ///
  /// On subscription, `optimistic` is added as a layer over the cached value, and `send` is subscribed to. The response
  /// replaces both in one step. If a value has been cached meanwhile that was written or requested after the change
  /// began, the response may be older than that value; then the change is applied to that value instead, and the result
  /// is stale: it is requested again for its watchers, as by ``invalidate(_:)``. A failure
  /// removes the layer, and fails the stream. Layers of several changes under way are independent: each is applied to
  /// the cached value and the layers before it, and they may end in any order. Disposing removes the layer; the server
  /// may have made the change nonetheless, so ``invalidate(_:)`` the key if it matters. A `send` that ends late, such
  /// as one that waits for a network, keeps the layer until then.
  /// - Parameters:
  ///   - key: Whose value it is.
  ///   - optimistic: The changed value; `nil` leaves it as it is. Called for each new value below, on any thread, and
  ///     maybe for one that has the change already: it should set what changes, not count or append.
  ///   - send: Makes the request; the stream's first element is the new value.
  public func mutate(
    _ key: Key, optimistic: @escaping @Sendable (Value?) -> Value?,
    send: @escaping @Sendable () -> Observable<Value>
  ) -> Observable<Value> {
    mutate(layerKey: key, optimistic: { _, value in optimistic(value) }, send: send) { layer, value, completion in
      self.settle(layer, value, for: key, then: completion)
    }
  }

  /// The same for a change that may affect any cached value.
  ///
  /// Once the server has accepted the change, it is applied to every cached value, on the thread of the response.
  /// Values that are not in memory are read from the source of truth, so this takes time in proportion to its number of
  /// records.
  /// - Parameters:
  ///   - optimistic: The changed value of a key; `nil` if the change does not affect it. It may be called for a value
  ///     that has the change already, as in ``mutate(_:optimistic:send:)``.
  ///   - send: Makes the request; the stream's first element is the new value of one key.
  ///   - keyForResponse: The key of that value. To all other values the change itself is applied once the server has
  ///     accepted it.
  public func mutateAll(
    optimistic: @escaping @Sendable (Key, Value) -> Value?, send: @escaping @Sendable () -> Observable<Value>,
    keyForResponse: @escaping @Sendable (Value) -> Key
  ) -> Observable<Value> {
    mutate(
      layerKey: nil, optimistic: { key, value in value.flatMap { optimistic(key, $0) } }, send: send
    ) { layer, value, completion in self.settle(layer, value, for: keyForResponse(value), then: completion) }
  }

  /// The same for a change whose response is no value of this store, such as that of another store's mutation: once the
  /// server has accepted the change, it is applied to every cached value. A value that was requested after the change
  /// began may have the change already, or not: it is requested again for its watchers, as by ``invalidate(_:)``.
  ///
  ///     products.mutateAll(optimistic: { id, product in id == bought ? product.reserved(by: user) : nil }) {
  ///       carts.mutate(user, optimistic: { $0?.with(bought) }) { AddToCart(id: bought).post(on: client) }
  ///     }
  public func mutateAll<Response: Sendable>(
    optimistic: @escaping @Sendable (Key, Value) -> Value?, send: @escaping @Sendable () -> Observable<Response>
  ) -> Observable<Response> {
    mutate(
      layerKey: nil, optimistic: { key, value in value.flatMap { optimistic(key, $0) } }, send: send
    ) { layer, _, completion in completion(self.settle(layer) ? nil : StoreError.signedOut) }
  }

  private func mutate<Response: Sendable>(
    layerKey: Key?, optimistic: @escaping @Sendable (Key, Value?) -> Value?,
    send: @escaping @Sendable () -> Observable<Response>,
    settle: @escaping @Sendable (Layer<Key, Value>, Response, @escaping @Sendable ((any Error)?) -> Void) -> Void
  ) -> Observable<Response> {
    .create { observer in
      // Checked again, since a watcher that is shown the change may sign out.
      guard let layer = self.addLayer(key: layerKey, optimistic), !self.perform({ $0.isSignedOut }) else {
        observer.onError(StoreError.signedOut)
        return Disposables.create()
      }
      let answer = send().take(1).subscribe(
        onNext: { response in
          settle(layer, response) { error in
            if let error { return observer.onError(error) }
            observer.onNext(response)
            observer.onCompleted()
          }
        },
        onError: { error in
          self.removeLayer(layer.id)
          observer.onError(error)
        },
        onCompleted: {
          // After a response the layer is gone, and this does nothing.
          let isSignedOut = self.perform { $0.isSignedOut }
          guard self.removeLayer(layer.id) || isSignedOut else { return }
          observer.onError(isSignedOut ? StoreError.signedOut : .noResponse)
        })
      return Disposables.create([Disposables.create { self.removeLayer(layer.id) }, answer])
    }
  }

  /// Shows a change over cached values until the layer is removed; returns `nil` after a sign-out.
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

  /// Caches the response, applies the change to all other values that it affects, then removes the layer.
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
    if !isForOneKey { keepChange(layer, except: key) }
    let isOvertaken = perform { state in
      if state.isOvertaken(layer, for: key) { return true }
      state.settle(layer, kept: kept, for: key, completion: completion)
      state.endSettling(layer)
      return false
    }
    guard isOvertaken else { return }
    let apply: (Key, Value?) -> Value? = { layer.apply($0, $1) ?? (isForOneKey ? answer : $1) }
    if !keepChange(layer, apply, in: key, isAnswered: true, then: completion) {
      perform { $0.settle(layer, kept: kept, for: key, completion: completion) }
    }
    perform { $0.endSettling(layer) }
  }

  /// Applies a change to all values that it affects, then removes the layer; returns `false` after a sign-out.
  @discardableResult
  func settle(_ layer: Layer<Key, Value>) -> Bool {
    if perform({ $0.beginSettling(layer) }) {
      keepChange(layer)
      perform { $0.endSettling(layer) }
    }
    return !perform { $0.isSignedOut }
  }

  /// Applies a change to every cached value that it affects.
  private func keepChange(_ layer: Layer<Key, Value>, except exception: Key? = nil) {
    for key in knownKeys() where key != exception && mayConcern(key, layer.apply) {
      _ = keepChange(layer, layer.apply, in: key, isAnswered: false) { _ in }
    }
  }

  /// Whether a change may affect the cached value of a key. A value that is not in memory is read, but not put there.
  private func mayConcern(_ key: Key, _ apply: (Key, Value?) -> Value?) -> Bool {
    if perform({ $0.entries[key] != nil || $0.memory.peek(key) != nil }) { return true }
    switch storage?.read(key) {
    case .found(let stored): return apply(key, stored.value) != nil
    case .missing, nil: return false
    case .failed:
      storage?.doubt(key)
      return false
    }
  }

  /// Applies a change to a cached value; returns whether there is one that it affects. A partial value whose key the
  /// response is for is left for the response to replace.
  private func keepChange(
    _ layer: Layer<Key, Value>, _ apply: (Key, Value?) -> Value?, in key: Key, isAnswered: Bool,
    then completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> Bool {
    perform { $0.acquire(key) }
    defer { perform { $0.release(key) } }
    load(key)
    while true {
      let now = clock.now
      let (current, version) = perform { ($0.current(key, now: now), $0.entries[key]?.version ?? 0) }
      guard let current, !isAnswered || !current.isPartial, let value = apply(key, current.value) else {
        if isAnswered || perform({ $0.outdateFetch(key, version: version) }) { return false }
        continue
      }
      let kept = changed(current, to: value)
      let isDone = perform {
        $0.settle(layer, changed: kept, for: key, version: version, isAnswered: isAnswered, completion: completion)
      }
      if isDone { return true }
    }
  }
}
