import Foundation
import Stores
import Streams

/// The least that a read can cost: a dictionary under a lock.
private final class LockedDictionary: @unchecked Sendable {
  // Touched only under the lock.
  private let lock = NSLock()
  private var values: [Int: Int] = [:]

  subscript(key: Int) -> Int? {
    get { lock.withLock { values[key] } }
    set { lock.withLock { values[key] = newValue } }
  }
}

private final class Box: @unchecked Sendable {
  // Each run has its own, on one thread.
  var value = 0
}

private func store(_ count: Int) -> Store<Int, Int> {
  var configuration = StoreConfiguration<Int>()
  configuration.memoryCount = count * 2
  let store = Store<Int, Int>(.ofStream { _ in .never() }, configuration: configuration)
  for key in 0..<count { store.save(key, for: key) }
  return store
}

/// Reads and writes with this many entries.
func memoryRows(entries count: Int) -> [Row] {
  let store = store(count)
  let dictionary = LockedDictionary()
  let cache = NSCache<NSNumber, NSNumber>()
  for key in 0..<count {
    dictionary[key] = key
    cache.setObject(NSNumber(value: key), forKey: NSNumber(value: key))
  }
  // A stride that visits all entries, and defeats caches.
  let key = { (index: Int) in index &* 7_919 % count }
  let box = Box()
  let reads: [Row.Work?] = [
    { dictionary[key($0)] ?? 0 }, { cache.object(forKey: NSNumber(value: key($0)))?.intValue ?? 0 },
  ]
  return [
    Row(
      name: "peek, \(count) entries", count: 100_000, works: [{ store.peek(key($0))?.value ?? 0 }] + reads,
      isInMemory: true, allocationCeiling: 0.1,
      ceilings: ["lock, dictionary": 12]),
    Row(
      name: "warm read, \(count) entries", count: 100_000,
      works: [
        { index in
          store.get(key(index), .cacheFirst).subscribe(onNext: { box.value = $0.value ?? 0 }).dispose()
          return box.value
        }
      ] + reads, isInMemory: true, allocationCeiling: 3.1, ceilings: ["lock, dictionary": 20]),
    Row(
      name: "write, \(count) entries", count: 100_000,
      works: [
        { index in
          store.save(index, for: key(index))
          return index
        },
        { index in
          dictionary[key(index)] = index
          return index
        },
        { index in
          cache.setObject(NSNumber(value: index), forKey: NSNumber(value: key(index)))
          return index
        },
      ], isInMemory: true),
  ]
}

/// A read that always makes a request, which is answered at once.
func networkRow(entries count: Int) -> Row {
  var configuration = StoreConfiguration<Int>()
  configuration.memoryCount = count * 2
  let store = Store<Int, Int>(.ofStream { Observable.just($0) }, configuration: configuration)
  let box = Box()
  return Row(
    name: "read from the network, \(count) entries", count: 20_000,
    works: [
      { index in
        let key = index &* 7_919 % count
        store.get(key, .networkOnly).subscribe(onNext: { box.value = $0.value ?? 0 }).dispose()
        return box.value
      }
    ], isInMemory: true, allocationCeiling: 44)
}

/// A write that wakes one of this many watchers.
func watcherRow(_ count: Int, bag: DisposeBag) -> Row {
  let store = store(count)
  let box = Box()
  for key in 0..<count {
    store.stream(key, .cacheOnly).subscribe(onNext: { box.value = $0.value ?? 0 }).disposed(by: bag)
  }
  return Row(
    name: "write that wakes 1 of \(count) watchers", count: 100_000,
    works: [
      { index in
        store.save(index, for: index % count)
        return box.value
      }
    ], isInMemory: true)
}
