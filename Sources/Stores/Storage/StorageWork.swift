/// The work of a ``StorageQueue``: what is to be done to a synchronous source of truth.
extension StorageQueue {
  enum Work: Sendable {
    case write(StoredValue<Value>, Key, isResponse: Bool = false)
    /// Marks what the source of truth has, which may be newer than what memory has.
    case invalidate(Key)
    /// Removes what is there. If that fails, what others write later, with greater versions, stays; and so it is with everything.
    case remove(Key, EntryVersion)
    /// Removes a value that has expired, unless another process has replaced the one of this version.
    case expire(Key, EntryVersion)
    case removeAll(EntryVersion)
    /// Removes everything, and ends whatever else has opened the source of truth.
    case signOut(EntryVersion)
    /// Keeps whether the server has refused the account.
    case refuse(Bool)
  }
}

extension StorageQueue.Work {
  /// This work in the place of earlier work on the same key that is not done.
  func merged(after earlier: Self) -> Self {
    switch (earlier, self) {
    case (.write(var stored, let key, let isResponse), .invalidate):
      stored.isInvalidated = true
      return .write(stored, key, isResponse: isResponse)
    // What has expired may have been replaced by another process, and is as old when it is read again.
    case (.remove, .invalidate), (.remove, .expire), (.invalidate, .expire): return earlier
    // What was to be replaced must not come back, whatever its version.
    case (.write(let stored, _, _), .expire(let key, _)): return .remove(key, stored.version)
    default: return self
    }
  }

  var isSignOut: Bool { if case .signOut = self { true } else { false } }

  /// What holds for the values that are there if this fails.
  var doubt: Suspicions<Key>.Suspicion {
    switch self {
    case .write(let stored, _, _): .removed(stored.version)
    case .remove(_, let version), .removeAll(let version), .signOut(let version): .removed(version)
    case .invalidate, .expire, .refuse: .outOfDate
    }
  }

  var isOfAll: Bool {
    switch self {
    case .removeAll, .signOut: true
    case .write, .invalidate, .remove, .expire, .refuse: false
    }
  }

  var isOfOneValue: Bool {
    switch self {
    case .write, .invalidate, .remove, .expire: true
    case .removeAll, .signOut, .refuse: false
    }
  }

  /// The key of which an older value may be left if this fails.
  var outdatedKey: Key? {
    switch self {
    case .write(_, let key, _), .invalidate(let key): key
    case .remove, .expire, .removeAll, .signOut, .refuse: nil
    }
  }
}

extension SourceOfTruth {
  /// - Parameter isRetry: Whether it has failed before, so that others may have written since, which stays.
  func perform(_ work: StorageQueue<Key, Value>.Work, isRetry: Bool) throws {
    switch work {
    case .write(let stored, let key, _): try write(stored, for: key)
    case .invalidate(let key): try invalidate(key)
    case .remove(let key, let version):
      if isRetry, let stored = try read(key), stored.version > version { return }
      try remove(key)
    case .expire(let key, let version): if try read(key)?.version == version { try remove(key) }
    case .removeAll: try removeAll()
    case .signOut: try signOut()
    case .refuse(let isRefused): try setRefused(isRefused)
    }
  }
}
