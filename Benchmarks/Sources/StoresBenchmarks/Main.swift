import Foundation
import Streams

/// Compares the repository with the least that a read can cost, and with a database.
///
///     StoresBenchmarks [ROUNDS] [ENTRIES ON DISK]
@main
enum Main {
  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst().map { Int($0) }
    let rounds = max(5, arguments.first.flatMap { $0 } ?? 5)
    let entries = max(2_000, arguments.dropFirst().first.flatMap { $0 } ?? 10_000)
    var table = Table(rounds: rounds)

    for count in [1_000, 100_000] {
      for row in memoryRows(entries: count) { try table.measure(row) }
    }
    try table.measure(networkRow(entries: 1_000))
    let bag = DisposeBag()
    for count in [1, 1_000] { try table.measure(watcherRow(count, bag: bag)) }

    let large = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let disks = try Disks()
    try disks.fill(0..<20, large)
    try table.measure(disks.hit("hit of 100 KB from disk", entries: 20, operations: 500))
    try table.measure(disks.write("write of 100 KB to disk", large, entries: 20, operations: 20))

    let small = Data(repeating: 7, count: 100)
    let many = try Disks()
    try many.fill(0..<1_000, small)
    let hit = { (count: Int) in many.hit("hit of 100 bytes among \(count) on disk", entries: count, operations: 5_000) }
    try table.measure(hit(1_000))
    try table.measure(many.miss("miss among 1000 on disk", operations: 5_000))
    try table.measure(many.write("write of 100 bytes among 1000 on disk", small, entries: 1_000, operations: 50))
    try many.fill(1_000..<entries, small)
    try table.measure(hit(entries))
    try table.measure(many.miss("miss among \(entries) on disk", operations: 5_000))
    try table.measure(many.write("write of 100 bytes among \(entries) on disk", small, entries: 1_000, operations: 50))

    let submit = { (count: Int) in "submit to an outbox with \(count) waiting" }
    for count in [0, 2_500] {
      try table.measure(try WaitingOutbox(waiting: count).submit(submit(count), operations: 100))
    }
    table.compare(submit(2_500), with: submit(0), ceiling: 1.5)

    for work in ["peek", "warm read", "write"] {
      table.compare("\(work), 100000 entries", with: "\(work), 1000 entries", ceiling: 4)
    }
    table.compare(
      "write that wakes 1 of 1000 watchers", with: "write that wakes 1 of 1 watchers", ceiling: 3)
    for miss in table.misses { print("\nmissed: \(miss)") }
    exit(table.misses.isEmpty ? 0 : 1)
  }
}
