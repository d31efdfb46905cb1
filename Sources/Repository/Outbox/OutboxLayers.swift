import Streams

/// The layers of the entries that wait in an outbox, by entry id.
final class OutboxLayers<Key: Hashable & Sendable, Value: Sendable>: Disposable {
  /// `nil` once this is disposed.
  private let waiting = Guarded<[String: Layer<Key, Value>]?>([:])
  private let remove: @Sendable (Layer<Key, Value>) -> Void

  init(remove: @escaping @Sendable (Layer<Key, Value>) -> Void) { self.remove = remove }

  /// Sets the layer of an entry; removes the old one, if any.
  func add(_ id: String, _ layer: Layer<Key, Value>) {
    let unused = waiting.withLock { waiting in waiting == nil ? layer : waiting?.updateValue(layer, forKey: id) }
    if let unused { remove(unused) }
  }

  /// Takes out the layer of an entry, for the caller to settle or remove.
  func take(_ id: String) -> Layer<Key, Value>? { waiting.withLock { $0?.removeValue(forKey: id) } }

  func dispose() {
    for layer in (waiting.withLock { exchange(&$0, with: nil) } ?? [:]).values { remove(layer) }
  }
}
