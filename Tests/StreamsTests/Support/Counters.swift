import Foundation
import Streams
import Synchronization
import SystemBase

/// Whether a sanitizer, with memory of its own, is in this process.
let isSanitized = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

/// Counts.
final class Counter: Sendable {
  private let value = Locked(0)
  var count: Int { value.withLock { $0 } }
  func increment() { value.withLock { $0 += 1 } }
  func decrement() { value.withLock { $0 -= 1 } }
}

/// Many numbers, without a lock that would keep the threads of a race apart.
final class Counters: Sendable {
  private let counts: [Count]

  init(_ count: Int) { counts = (0..<count).map { _ in Count() } }

  var values: [Int] { counts.map { $0.value.load(ordering: .sequentiallyConsistent) } }

  func increment(_ index: Int) { counts[index].value.add(1, ordering: .relaxed) }

  func set(_ index: Int, to value: Int) { counts[index].value.store(value, ordering: .relaxed) }

  /// An atomic number that closures can share.
  private final class Count: Sendable {
    let value = Atomic(0)
  }
}
