/// The work of a ``SharedQueue``, and what it knows of each key.
extension SharedQueue {
  /// What is to be done to one key.
  enum Work: Sendable {
    /// A value, and the invalidation that came after it: the value is marked, but if the source does not take it, what it
    /// has instead is out of date.
    case write(StoredValue<Value>, isResponse: Bool, invalidation: EntryVersion? = nil)
    case invalidate(EntryVersion)
    case remove(EntryVersion)
  }

  /// Who waits for a change; the numbers grow.
  struct Waiter {
    let number: UInt64
    let completion: WriteCompletion
  }

  struct Job {
    var work: Work
    var waiters: [Waiter]
    /// When it was added; if it replaces earlier work that is not done, when that was.
    let number: UInt64
    /// Whether it has failed before.
    var isOutstanding = false
    /// Whether it has a value that had failed before: others may have written after it.
    var isLate = false

    /// New work in the place of the earlier work on the key, which is not done.
    init(_ work: Work, after earlier: Job?, waiters: [Waiter], number: UInt64) {
      self.number = earlier?.number ?? number
      self.work = earlier.map { work.merged(after: $0.work) } ?? work
      self.waiters = (earlier?.waiters ?? []) + waiters
      if case .invalidate = work, let earlier { isLate = earlier.isOutstanding || earlier.isLate }
    }
  }

  /// The work of one key, which is never empty.
  struct Line {
    var running: Job?
    var waiting: Job?
    /// The number of the attempt that is running, and whether the source has not ended it although it was cancelled.
    var attempt: UInt64 = 0
    var isStuck = false
    /// Called when all that is in the line now has been tried.
    var settling: [@Sendable () -> Void] = []
  }

  struct Removal {
    let version: EntryVersion
    var waiters: [Waiter] = []
    var isRunning = false
    /// Whether it has run for longer than the time limit, so that those who wait from then on have one of their own.
    var isOverdue = false
    /// Whether the source has not ended it although it was cancelled.
    var isStuck = false
    var isOutstanding = false
  }

  /// Who waits for all work that has a smaller number.
  struct Flush: Sendable {
    let number: UInt64
    /// When the source has last taken some of it.
    var renewedAt: Duration
    let end: @Sendable () -> Void
  }

  /// What is not done any more.
  struct Abandoned {
    var completions: [WriteCompletion] = []
    /// The latest version of a change that is running.
    var latest = EntryVersion.zero
    let garbage: Any

    init(garbage: Any) { self.garbage = garbage }

    mutating func add(_ waiters: [Waiter]?) { completions += (waiters ?? []).map(\.completion) }
  }

  /// What the source has not ended although it was cancelled.
  struct Stuck: Sendable {
    let attempts: [Key: UInt64]
    let removal: EntryVersion?

    var isEmpty: Bool { attempts.isEmpty && removal == nil }
  }

  /// The keys whose value in the source is out of date, since outstanding work was given up.
  struct Suspects {
    private var keys: Set<Key> = []
    private var isEverything = false

    func contains(_ key: Key) -> Bool { isEverything || keys.contains(key) }

    mutating func insert(_ key: Key) {
      if keys.count < SharedQueue.limit { keys.insert(key) } else { isEverything = true }
    }

    mutating func insertAll() { isEverything = true }
    mutating func remove(_ key: Key) { keys.remove(key) }
  }
}

extension SharedQueue.Work {
  var version: EntryVersion {
    get {
      switch self {
      case .write(let stored, _, _): stored.version
      case .invalidate(let version), .remove(let version): version
      }
    }
    set {
      switch self {
      case .write(var stored, let isResponse, let invalidation):
        stored.version = newValue
        self = .write(stored, isResponse: isResponse, invalidation: invalidation)
      case .invalidate: self = .invalidate(newValue)
      case .remove: self = .remove(newValue)
      }
    }
  }

  /// This work in the place of earlier work on the key that is not done.
  func merged(after earlier: Self) -> Self {
    guard case .invalidate(let version) = self else { return self }
    switch earlier {
    case .write(var stored, let isResponse, _):
      stored.isInvalidated = true
      return .write(stored, isResponse: isResponse, invalidation: version)
    case .remove: return earlier
    case .invalidate: return self
    }
  }
}

extension Array {
  /// Takes out those with numbers up to this one.
  mutating func take<Key, Value>(through number: UInt64) -> [Element]
  where Element == SharedQueue<Key, Value>.Waiter {
    let late = filter { $0.number <= number }
    removeAll { $0.number <= number }
    return late
  }
}
