import Streams

/// One store for each account, so that a process can serve many accounts without ever showing one of them another's
/// data.
///
///     let timelines = StoreGroup { account in
///       let folder = caches.appending(path: "timelines")
///       return Store(sourceOfTruth: try DiskCache(folder: folder, partition: account)) { session.getTimeline($0) }
///     }
///     try timelines.store(for: "3@bff.example.com").stream("0")
///
/// The partition's name identifies the account: a user's id together with an endpoint, for example. Each partition has
/// a store of its own, so requests, values and records of two partitions never mix. A store stays in memory until its
/// partition is closed or signed out: a server with many users closes those that have gone.
public final class StoreGroup<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let make: @Sendable (String) throws -> Store<Key, Value>
  /// By the UTF-8 of their names: `String` equality is canonical equivalence, but partitions are distinguished by
  /// bytes.
  private let stores = Guarded<[[UInt8]: Store<Key, Value>]>([:])
  /// Closed stores that somebody may still use: a sign-out has to reach their requests, too.
  private let closed = Guarded<[[UInt8]: [WeakStore]]>([:])

  private struct WeakStore: Sendable {
    weak let store: Store<Key, Value>?
  }

  /// Makes a group; the closure makes the store of a partition, over the partition's own source of truth.
  public init(_ make: @escaping @Sendable (_ partition: String) throws -> Store<Key, Value>) {
    self.make = make
  }

  /// The store of a partition; the same one until it is closed or signed out. Throws what the group's closure throws;
  /// the next call then tries again.
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

  /// Lets go of the store of a partition, whose data stay, once all its writes are on disk. Whoever still uses the
  /// store may continue, but shares nothing with the one that the next call of ``store(for:)`` makes.
  public func close(_ partition: String) async {
    let name = Array(partition.utf8)
    guard let store = stores.withLock({ $0[name] }) else { return }
    await store.flush()
    // Released outside the lock: a store's last release runs the user's code.
    var used: [Store<Key, Value>] = []
    closed.withLock { closed in
      closed = closed.compactMapValues { stores in
        let alive = stores.filter { closed in
          guard let store = closed.store else { return false }
          used.append(store)
          return true
        }
        return alive.isEmpty ? nil : alive
      }
      closed[name, default: []].append(WeakStore(store: store))
    }
    withExtendedLifetime(used) {}
    remove(store, name)
  }

  /// Ends the store of a partition, also those that were closed and are still used, and removes everything it has kept;
  /// see ``Store/signOut()``. If the store is not open, it is opened first; throws what the group's closure throws
  /// then, and its data stay. Throws the source of truth's error if it could not remove everything; all stores are
  /// ended nonetheless, and another call tries again.
  public func signOut(_ partition: String) throws {
    let name = Array(partition.utf8)
    let store = try store(for: partition)
    // Before the open one: what these still write is then removed with the rest.
    let stores = closed.withLock { $0[name] ?? [] }.compactMap(\.store) + [store]
    let endings = stores.map { store in Result { try store.signOut() } }
    for ending in endings { try ending.get() }
    closed.withLock { $0[name] = nil }
    remove(store, name)
  }

  private func remove(_ store: Store<Key, Value>, _ name: [UInt8]) {
    stores.withLock { if $0[name] === store { $0[name] = nil } }
  }
}
