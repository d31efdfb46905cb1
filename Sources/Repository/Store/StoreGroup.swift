import Streams

/// A store for each account, so that one process can serve many accounts and never shows one of them another's data.
///
///     let timelines = StoreGroup { account in
///       Store(sourceOfTruth: try DiskCache(folder: caches, partition: account)) { session.getTimeline($0) }
///     }
///     try timelines.store(for: "3@bff.example.com").stream("0")
///
/// What tells accounts apart, such as a user's id together with an endpoint, is the partition's name. Requests, values
/// and records of two partitions never meet: each has a store of its own.
public final class StoreGroup<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let make: @Sendable (String) throws -> Store<Key, Value>
  /// By the bytes of their names: strings are equal that look the same, and partitions are not.
  private let stores = Guarded<[[UInt8]: Store<Key, Value>]>([:])

  /// Makes a group, with a closure that makes the store of a partition, over the partition's own source of truth.
  public init(_ make: @escaping @Sendable (_ partition: String) throws -> Store<Key, Value>) {
    self.make = make
  }

  /// The store of a partition; the same one until it is signed out. Throws what the group's closure throws, which is called
  /// again the next time.
  public func store(for partition: String) throws -> Store<Key, Value> {
    let name = Array(partition.utf8)
    if let store = stores.withLock({ $0[name] }) { return store }
    let store = try make(partition)
    return stores.withLock { stores in
      if let first = stores[name] { return first }
      stores[name] = store
      return store
    }
  }

  /// Ends the store of a partition, and removes all that it has kept; see ``Store/signOut()``. Throws what the group's
  /// closure throws where the store is not open: then what it has kept before is still there.
  public func signOut(_ partition: String) throws {
    let store = try store(for: partition)
    store.signOut()
    let name = Array(partition.utf8)
    stores.withLock { if $0[name] === store { $0[name] = nil } }
  }
}
