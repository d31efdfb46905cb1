import Synchronization

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
