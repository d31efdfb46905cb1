public import Streams

extension Store {
  /// Shows what waits in an outbox over what is kept, whatever is read: from now on, until each entry is sent, refused or
  /// withdrawn, or the outbox is closed. What has been put in by an earlier process is shown, too.
  ///
  /// The server's answer takes the place of the change in one step, as in ``mutateAll(optimistic:send:keyForResponse:)``,
  /// and of what is kept, though that was asked for while the change was on its way: changes are sent one after the other.
  /// The outbox does not hold the store: one that goes away ends the showing, and keeps no answer.
  /// - Parameters:
  ///   - outbox: What waits.
  ///   - change: What a mutation makes of the value of a key; `nil` where it does not concern it.
  ///   - keyForResponse: The key of the value that the server answers with.
  /// - Returns: Ends the showing when it is disposed. Dropping it does not.
  @discardableResult
  public func show<Mutation>(
    _ outbox: Outbox<Mutation, Value>, change: @escaping @Sendable (Mutation, Key, Value) -> Value?,
    keyForResponse: @escaping @Sendable (Value) -> Key
  ) -> any Disposable {
    let layers = OutboxLayers<Key, Value> { [weak self] in self?.removeLayer($0.id) }
    let watching = outbox.changes.subscribe(
      onNext: { [weak self] event in
        guard let self else { return }
        switch event {
        case .added(let entry):
          let layer = self.addLayer(key: nil, isInOrder: true) { key, value in
            value.flatMap { change(entry.mutation, key, $0) }
          }
          if let layer { layers.add(entry.id, layer) }
        case .sent(let entry, let value):
          if let layer = layers.take(entry.id) { self.settle(layer, value, for: keyForResponse(value)) { _ in } }
        case .refused(let entry, _), .withdrawn(let entry):
          if let layer = layers.take(entry.id) { self.removeLayer(layer.id) }
        }
      }, onCompleted: { layers.dispose() })
    watching.disposed(by: showings)
    return Disposables.create(layers, watching)
  }
}

/// The layers of what waits in an outbox, by the entries' ids.
private final class OutboxLayers<Key: Hashable & Sendable, Value: Sendable>: Disposable {
  /// `nil` once this is disposed.
  private let waiting = Guarded<[String: Layer<Key, Value>]?>([:])
  private let remove: @Sendable (Layer<Key, Value>) -> Void

  init(remove: @escaping @Sendable (Layer<Key, Value>) -> Void) { self.remove = remove }

  func add(_ id: String, _ layer: Layer<Key, Value>) {
    let isShown = waiting.withLock { waiting in
      waiting?[id] = layer
      return waiting != nil
    }
    if !isShown { remove(layer) }
  }

  /// The layer of an entry, which is to be settled or removed.
  func take(_ id: String) -> Layer<Key, Value>? { waiting.withLock { $0?.removeValue(forKey: id) } }

  func dispose() {
    for layer in (waiting.withLock { exchange(&$0, with: nil) } ?? [:]).values { remove(layer) }
  }
}
