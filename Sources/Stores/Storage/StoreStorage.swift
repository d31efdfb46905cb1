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

/// A store's way to its storage: what it reads there and enqueues to be written, whichever kind it is.
enum StorageAccess<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  case memory
  case queue(StorageQueue<Key, Value>)
  case shared(SharedQueue<Key, Value>)

  init(_ storage: StoreStorage<Key, Value>, _ configuration: StoreConfiguration<Value>) {
    switch storage {
    case .memory: self = .memory
    case .source(let source):
      let writesBehind = configuration.writing == .behind
      self = .queue(StorageQueue(source, writesBehind: writesBehind, onError: configuration.onStorageError))
    case .async(let source):
      let scheduler = configuration.clock.scheduler
      self = .shared(SharedQueue(source, scheduler: scheduler, onError: configuration.onStorageError))
    }
  }

  /// The way to a synchronous source of truth.
  var queue: StorageQueue<Key, Value>? { if case .queue(let queue) = self { queue } else { nil } }

  /// The way to an asynchronous source of truth.
  var shared: SharedQueue<Key, Value>? { if case .shared(let shared) = self { shared } else { nil } }

  /// Whether there is nothing but memory.
  var isMemory: Bool { if case .memory = self { true } else { false } }

  /// Whether the server has refused the account, as an earlier store or process has found.
  var isRefused: Bool {
    switch self {
    case .memory: false
    case .queue(let queue): queue.isRefused
    case .shared(let shared): shared.account.isRefused
    }
  }

  /// Whether something is lost if nobody keeps this.
  var isBusy: Bool {
    switch self {
    case .memory: false
    case .queue(let queue): queue.isBusy
    case .shared(let shared): shared.isBusy || shared.account.isNeeded
    }
  }

  /// Whether something is left to be done after the end of the store: a removal of everything or, for an asynchronous
  /// source of truth, any work.
  var hasRemains: Bool {
    switch self {
    case .memory: false
    case .queue(let queue): queue.removal != nil || queue.hasRemains
    case .shared(let shared): shared.isBusy
    }
  }

  /// Sets what to call, without a lock, when there is work and was none before.
  func onBusy(_ action: @escaping @Sendable () -> Void) {
    queue?.onBusy(action)
    shared?.onBusy(action)
  }

  /// Carries out all work, and what has failed once more; then runs the completion, with how many changes the source of
  /// truth has not got.
  func flush(then completion: @escaping @Sendable (_ unwritten: Int) -> Void) {
    switch self {
    case .memory: completion(0)
    case .queue(let queue): queue.flush(then: completion)
    case .shared(let shared): shared.flush(then: completion)
    }
  }
}
