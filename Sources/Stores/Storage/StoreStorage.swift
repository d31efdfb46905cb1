/// Where a store keeps its values beside memory: one of its two inputs, beside its ``Fetcher``.
///
///     Store<String, User>(fetcher, storage: .source(try DiskCache(folder: folder, partition: account)))
public enum StoreStorage<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// Nowhere: values are gone when the store is.
  case memory

  /// In a source of truth that is synchronous, such as a ``DiskCache``. It is read on the subscriber's thread, and
  /// written before a response's readers get it, unless ``StoreConfiguration/writing`` is `behind`.
  case source(any SourceOfTruth<Key, Value>)

  /// In a source of truth that is asynchronous, and may be shared by many processes, whose changes the store follows.
  /// No thread waits for it, and no read longer than its ``AsyncSourceOfTruth/timeLimit``; so what is written is in
  /// memory at once, and in the source of truth when ``Store/flush()`` returns. Errors of writes are reported to
  /// ``StoreConfiguration/onStorageError``.
  case async(any AsyncSourceOfTruth<Key, Value>)
}
