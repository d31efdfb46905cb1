import Streams

/// The layers of what waits in an outbox, by the entries' ids.
final class OutboxLayers<Key: Hashable & Sendable, Value: Sendable>: Disposable {
  /// `nil` once this is disposed.
  private let waiting = Guarded<[String: Layer<Key, Value>]?>([:])
  private let remove: @Sendable (Layer<Key, Value>) -> Void

  init(remove: @escaping @Sendable (Layer<Key, Value>) -> Void) { self.remove = remove }

  /// Takes an entry's layer in the place of the one that it may have.
  func add(_ id: String, _ layer: Layer<Key, Value>) {
    let unused = waiting.withLock { waiting in waiting == nil ? layer : waiting?.updateValue(layer, forKey: id) }
    if let unused { remove(unused) }
  }

  /// The layer of an entry, which is to be settled or removed.
  func take(_ id: String) -> Layer<Key, Value>? { waiting.withLock { $0?.removeValue(forKey: id) } }

  func dispose() {
    for layer in (waiting.withLock { exchange(&$0, with: nil) } ?? [:]).values { remove(layer) }
  }
}
