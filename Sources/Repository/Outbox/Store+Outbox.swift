public import Streams

extension Store {
  /// Shows what waits in an outbox over what is kept, whatever is read: from now on, until each entry is sent, refused or
  /// withdrawn, or the outbox is closed. What has been put in by an earlier process is shown, too.
  ///
  /// The server's answer takes the place of the change in one step, as in ``mutateAll(optimistic:send:keyOfAnswer:)``.
  /// - Parameters:
  ///   - outbox: What waits.
  ///   - change: What a mutation makes of the value of a key; `nil` where it does not concern it.
  ///   - keyOfAnswer: The key of the value that the server answers with.
  /// - Returns: Ends the showing when it is disposed. Dropping it does not.
  @discardableResult
  public func show<Mutation>(
    _ outbox: Outbox<Mutation, Value>, change: @escaping @Sendable (Mutation, Key, Value) -> Value?,
    keyOfAnswer: @escaping @Sendable (Value) -> Key
  ) -> any Disposable {
    let layers = OutboxLayers<Value>()
    let watching = outbox.changes.subscribe(
      onNext: { [weak self] event in
        guard let self else { return }
        switch event {
        case .added(let entry):
          let answer = PublishSubject<Value>()
          let layer = self.mutate(
            layerKey: nil, isInOrder: true,
            optimistic: { key, value in value.flatMap { change(entry.mutation, key, $0) } },
            send: { answer.asObservable() }, keyOfAnswer: keyOfAnswer
          ).subscribe(onError: { _ in })
          layers.add(entry.id, answer, layer)
        case .sent(let entry, let value): layers.remove(entry.id)?.onNext(value)
        case .refused(let entry, _), .withdrawn(let entry): layers.remove(entry.id)?.onCompleted()
        }
      }, onCompleted: { layers.dispose() })
    return Disposables.create(layers, watching)
  }
}

/// The layers of what waits in an outbox, by the entries' ids.
private final class OutboxLayers<Value: Sendable>: Disposable {
  private typealias Waiting = [String: (answer: PublishSubject<Value>, layer: any Disposable)]

  /// `nil` once this is disposed.
  private let waiting = Guarded<Waiting?>([:])

  func add(_ id: String, _ answer: PublishSubject<Value>, _ layer: any Disposable) {
    let isShown = waiting.withLock { waiting in
      waiting?[id] = (answer, layer)
      return waiting != nil
    }
    if !isShown { layer.dispose() }
  }

  /// Where the server's answer goes; completing it takes the layer away.
  func remove(_ id: String) -> PublishSubject<Value>? {
    waiting.withLock { $0?.removeValue(forKey: id) }?.answer
  }

  func dispose() {
    for entry in (waiting.withLock { exchange(&$0, with: nil) } ?? [:]).values { entry.layer.dispose() }
  }
}
