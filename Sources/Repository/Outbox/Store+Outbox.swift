public import Streams

extension Store {
  /// Shows what waits in an outbox on top of cached values, in all reads: from now on, until each entry is sent,
  /// refused or withdrawn, or the account is signed out. Includes entries added by earlier processes.
  ///
  /// The outbox reports a mutation as sent, and removes it from disk, when its response or change is in the source of
  /// truth, unless ``StoreConfiguration/writing`` is `behind`: so neither is lost, however the process ends.
  ///
  /// The response replaces the change in one step, as in ``mutateAll(optimistic:send:keyForResponse:)``. It also
  /// replaces a cached value that was requested while the change was being sent: changes are sent one after the other,
  /// so it is the newer one. Until then, the store keeps the outbox alive; the outbox does not keep the store alive: when
  /// the store is released, nothing more is shown, and no response is cached.
  /// - Parameters:
  ///   - outbox: The outbox.
  ///   - change: The value of a key, changed by a mutation; `nil` if the mutation does not affect it.
  ///   - keyForResponse: The key of the value in the response.
  /// - Returns: Stops showing the changes when disposed. Releasing it does not.
  @discardableResult
  public func show<Mutation>(
    _ outbox: Outbox<Mutation, Value>, change: @escaping @Sendable (Mutation, Key, Value) -> Value?,
    keyForResponse: @escaping @Sendable (Value) -> Key
  ) -> any Disposable {
    show(outbox, change: change) { store, layer, value, completion in
      store.commit(layer, response: (keyForResponse(value), value), completion: completion)
    }
  }

  /// The same for an outbox whose responses are no values of this store: once the server has accepted a mutation that
  /// this outbox sent, its change is applied to every cached value. If another process sent it, it is no longer shown;
  /// call ``invalidate(_:)`` when ``Outbox/changes`` reports that an entry was withdrawn.
  @discardableResult
  public func show<Mutation, Response>(
    _ outbox: Outbox<Mutation, Response>, change: @escaping @Sendable (Mutation, Key, Value) -> Value?
  ) -> any Disposable {
    show(outbox, change: change) { store, layer, _, completion in
      store.commit(layer, response: nil, completion: completion)
    }
  }

  private func show<Mutation, Response>(
    _ outbox: Outbox<Mutation, Response>, change: @escaping @Sendable (Mutation, Key, Value) -> Value?,
    commit: @escaping @Sendable (Store<Key, Value>, Layer<Key, Value>, Response, @escaping WriteCompletion) -> Void
  ) -> any Disposable {
    let layers = OutboxLayers<Key, Value>(of: outbox) { [weak self] in self?.removeLayer($0.id) }
    let watching = outbox.showing(
      { [weak self] event, done in
        guard let self else { return done() }
        switch event {
        case .added(let entry):
          let layer = self.addLayer(key: nil, isInOrder: true) { key, value in
            value.flatMap { change(entry.mutation, key, $0) }
          }
          if let layer { layers.add(entry.id, layer) }
          done()
        case .sent(let entry, let value):
          // That it could not be written is reported by the store, and no reason to send the mutation again.
          if let layer = layers.take(entry.id) { commit(self, layer, value) { _ in done() } } else { done() }
        case .refused(let entry, let error):
          if let layer = layers.take(entry.id) { self.reject(layer, error) { _ in done() } } else { done() }
        case .withdrawn(let entry):
          if let layer = layers.take(entry.id) { self.removeLayer(layer.id) }
          done()
        }
      }, onCompleted: { layers.dispose() })
    watching.disposed(by: showings)
    return Disposables.create(layers, watching)
  }
}

/// The layers of the entries that wait in an outbox, by entry id. It keeps the outbox alive until it is disposed.
final class OutboxLayers<Key: Hashable & Sendable, Value: Sendable>: Disposable {
  private struct Showing {
    let outbox: any AnyObject & Sendable
    var layers: [String: Layer<Key, Value>] = [:]
  }

  /// `nil` once this is disposed.
  private let showing: Locked<Showing?>
  private let remove: @Sendable (Layer<Key, Value>) -> Void

  init(of outbox: any AnyObject & Sendable, remove: @escaping @Sendable (Layer<Key, Value>) -> Void) {
    showing = Locked(Showing(outbox: outbox))
    self.remove = remove
  }

  /// Sets the layer of an entry; removes the old one, if any.
  func add(_ id: String, _ layer: Layer<Key, Value>) {
    let unused = showing.withLock { showing in
      showing == nil ? layer : showing?.layers.updateValue(layer, forKey: id)
    }
    if let unused { remove(unused) }
  }

  /// Takes out the layer of an entry, for the caller to commit or remove.
  func take(_ id: String) -> Layer<Key, Value>? { showing.withLock { $0?.layers.removeValue(forKey: id) } }

  func dispose() {
    // Released outside the lock, with the outbox.
    let ended = showing.withLock { exchange(&$0, with: nil) }
    for layer in (ended?.layers ?? [:]).values { remove(layer) }
  }
}
