public import Streams

extension Store {
  /// Shows what waits in an outbox over what is kept, whatever is read: from now on, until each entry is sent, refused or
  /// withdrawn, or the account signed out. What has been put in by an earlier process is shown, too.
  ///
  /// The server's answer takes the place of the change in one step, as in ``mutateAll(optimistic:send:keyForResponse:)``,
  /// and of what is kept, though that was asked for while the change was on its way: changes are sent one after the other.
  /// The outbox does not keep the store alive: when the store goes away, nothing more is shown, and no response is
  /// kept.
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
