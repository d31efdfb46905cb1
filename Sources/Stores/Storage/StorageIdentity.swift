import SystemBase

/// What all objects that open the same source of truth in this process have in common.
struct StorageIdentity: Hashable, Sendable {
  private struct Known {
    weak var storage: (any AnyObject & Sendable)?
  }

  private static let known = Locked<[StorageIdentity: Known]>([:])

  let type: ObjectIdentifier
  private let path: ExactText

  init(type: ObjectIdentifier, path: String) { (self.type, self.path) = (type, ExactText(path)) }

  /// The storage that is known by this identity, unless it is the one that has ended; else the one that is made.
  func storage(
    insteadOf ended: (any AnyObject)?, _ make: () -> any AnyObject & Sendable
  ) -> any AnyObject & Sendable {
    Self.known.withLockUnchecked { known in
      // Not released here: its end takes this lock.
      if let storage = known[self]?.storage, storage !== ended { return storage }
      let storage = make()
      known[self] = Known(storage: storage)
      return storage
    }
  }

  /// Forgets a storage that has ended, unless there is another one by now.
  func forget() {
    let other = Self.known.withLockUnchecked { known in
      let other = known[self]?.storage
      if other == nil { known[self] = nil }
      return other
    }
    // Not released under the lock, either.
    withExtendedLifetime(other) {}
  }
}
