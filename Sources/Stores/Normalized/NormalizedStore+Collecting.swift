import Streams
import SystemBase

extension NormalizedStore {
  /// How many bytes the records take.
  public var size: Int { records.withLock { $0.cache.chunkBytes } }

  /// How many entities are kept.
  public var entityCount: Int { records.withLock { $0.cache.entityCount } }

  /// Drops the records that no kept value was read of: neither that of a watched operation, nor one of the latest
  /// ``NormalizedConfiguration/memoryCount`` that were read within ``NormalizedConfiguration/idleTime``. It is done in
  /// slices, between which others read and write. It happens by itself when the records have grown to
  /// ``NormalizedConfiguration/collectionThreshold``, or to twice of what the last collection has left.
  public func collect() {
    let begins = collection.withLock { exchange(&$0.isRunning, with: true) == false }
    guard begins else { return }
    records.change { $0.beginCollection() }
    continueCollection()
  }

  /// Collects on a thread of its own, if the records are large.
  func collectIfNeeded() {
    let threshold = collection.withLock { max(configuration.collectionThreshold, $0.left * 2) }
    if size < threshold { return }
    _ = store.clock.scheduler.schedule(after: .zero) { [weak self] in self?.collect() }
  }

  private func continueCollection() {
    while records.withLock({ $0.continueCollection(entities: 2_000) }) {}
    let left = size
    collection.withLock { $0 = Collection(isRunning: false, left: left) }
  }

  /// What is known of collections.
  struct Collection: Sendable {
    var isRunning = false
    /// How many bytes the last one has left.
    var left = 0
  }
}
