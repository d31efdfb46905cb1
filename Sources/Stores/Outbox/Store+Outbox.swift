public import Streams
import SystemBase

extension Store {
  /// Shows what waits in an outbox on top of cached values, in all reads: from now on, until each entry is sent,
  /// refused or withdrawn, or the account is signed out. Includes entries added by earlier processes.
  ///
  ///     users.show(outbox) { rename in .of(rename.id) { user in user?.renamed(rename.name) } }
  ///
  /// The outbox reports a mutation as sent, and removes it from disk, when its response or change is in the source of
  /// truth, unless ``StoreConfiguration/writing`` is `behind`: so neither is lost, however the process ends.
  ///
  /// If the server refuses the account (401), the entry waits, and cached values are hidden as after a refused request.
  ///
  /// The response replaces the change in one step, as in ``mutate(_:send:)``. It also replaces a cached value that was
  /// requested while the change was being sent: changes are sent one after the other, so it is the newer one. Until
  /// then, the store keeps the outbox alive; the outbox does not keep the store alive: when the store is released,
  /// nothing more is shown, and no response is cached.
  ///
  /// If the response is not a value of this store, the change is applied to every cached value once the server has
  /// accepted a mutation that this outbox sent. If another process sent it, it is no longer shown; call
  /// `invalidate(_:)` when
  /// ``Outbox/changes`` reports that an entry was withdrawn.
  /// - Parameters:
  ///   - outbox: The outbox.
  ///   - change: The change that a mutation makes. Called on any thread, without a lock held, and again when the
  ///     response has come.
  /// - Returns: Stops showing the changes when disposed. Releasing it does not.
  @discardableResult
  public func show<Mutation, Response>(
    _ outbox: Outbox<Mutation, Response>,
    change: @escaping @Sendable (Mutation) -> StoreChange<Key, Value, Response>
  ) -> any Disposable {
    let layers = OutboxLayers<Layer<Key, Value>>(of: outbox)
    let watching = outbox.showing(
      { [weak self] event, done in
        let steps = Steps<Key, Value>()
        guard let self else {
          done()
          return {}
        }
        switch event {
        case .added(let entry):
          let layer = self.addLayer(change(entry.mutation), isInOrder: true, in: steps)
          if let unused = layer.flatMap({ layers.add(entry.id, $0) }) { self.removeLayers([unused], in: steps) }
          done()
        case .sent(let entry, let response):
          guard let layer = layers.take(entry.id) else {
            done()
            break
          }
          // That it could not be written is reported by the store, and no reason to send the mutation again.
          let value = change(entry.mutation).valueInResponse(response)
          if let refusal = layers.refusal { self.perform(in: steps) { $0.unhide(afterSuccessOf: refusal) } }
          self.commit(layer, response: value, in: steps) { _ in done() }
        case .refused(let entry, let error):
          if let layer = layers.take(entry.id) { self.reject(layer, error, in: steps) { _ in } }
          done()
        case .withdrawn(let entry):
          if let layer = layers.take(entry.id) { self.removeLayers([layer], in: steps) }
          done()
        }
        // Watchers of the store, which may stall, are called once the outbox has got rid of the change.
        return { self.end(steps) }
      },
      onRefusal: { [weak self] error in
        let steps = Steps<Key, Value>()
        self?.apply(error, of: nil, in: steps) { _ in }
        if let number = self?.perform({ $0.nextNumber() }) { layers.note(refusal: number) }
        return { [weak self] in self?.end(steps) }
      },
      onCompleted: { [weak self] in
        let (steps, ended) = (Steps<Key, Value>(), layers.end())
        guard let self else { return {} }
        self.removeLayers(ended, in: steps)
        return { self.end(steps) }
      })
    watching.disposed(by: showings)
    return Disposables.create { [weak self] in
      let (steps, ended) = (Steps<Key, Value>(), layers.end())
      self?.removeLayers(ended, in: steps)
      watching.dispose()
      self?.end(steps)
    }
  }

  private func removeLayers(_ layers: [Layer<Key, Value>], in steps: Steps<Key, Value>) {
    perform(in: steps) { state in for layer in layers { state.removeLayer(layer.id) } }
  }
}

/// The layers of the entries that wait in an outbox, by entry id. It keeps the outbox alive until it ends.
final class OutboxLayers<Layer: Sendable>: Sendable {
  private struct Showing {
    let outbox: any AnyObject & Sendable
    var layers: [String: Layer] = [:]
    var refusal: UInt64?
  }

  /// `nil` once this has ended.
  private let showing: Locked<Showing?>

  init(of outbox: any AnyObject & Sendable) { showing = Locked(Showing(outbox: outbox)) }

  /// Sets the layer of an entry; returns the one that is not shown: the old one, if any, or this one after the end.
  func add(_ id: String, _ layer: Layer) -> Layer? {
    showing.withLock { showing in
      showing == nil ? layer : showing?.layers.updateValue(layer, forKey: id)
    }
  }

  /// Takes out the layer of an entry, for the caller to commit or remove.
  func take(_ id: String) -> Layer? { showing.withLock { $0?.layers.removeValue(forKey: id) } }

  /// The number, in the store's order, of the latest refusal of the account while an entry waited. What is sent from then on
  /// is sent after it, whenever that was added.
  var refusal: UInt64? { showing.withLock { $0?.refusal } }

  /// Notes that the server has refused the account while an entry waited.
  func note(refusal number: UInt64) { showing.withLock { $0?.refusal = number } }

  /// Takes out all layers, for the caller to remove.
  func end() -> [Layer] {
    // Released outside the lock, with the outbox.
    let ended = showing.withLock { exchange(&$0, with: nil) }
    return Array((ended?.layers ?? [:]).values)
  }
}
