import CAllocations
import Glibc
import Measuring

/// Measures rows, interleaved, and prints them as Markdown.
struct Table {
  let rounds: Int
  private(set) var misses: [String] = []

  init(rounds: Int) {
    self.rounds = rounds
    print("| work | ns | allocations | OpenCombine | AsyncStream | closures | floor | aim |")
    print("|---|---|---|---|---|---|---|---|")
  }

  mutating func measure(_ row: Row, only: Int? = nil) async {
    var times = row.works.map { _ in [Double]() }
    var checksums = Set<Int>()
    var allocations = 0.0
    for round in 0...rounds {
      for (index, work) in row.works.enumerated() {
        guard let work, only == nil || index == only else { continue }
        let before = allocation_count()
        let start = processorNanoseconds()
        checksums.insert(await work(row.count))
        let time = (processorNanoseconds() - start) / Double(row.count)
        if index == 0 { allocations = Double(allocation_count() - before) / Double(row.count) }
        // The first round warms up.
        if round > 0 { times[index].append(time) }
      }
    }
    let medians = times.map { times in times.isEmpty ? nil : times.sorted()[times.count / 2] }
    guard let own = medians[0] else { return }
    let ratios = medians.dropFirst().map { $0.map { $0 / own } }
    if checksums.count != 1 { misses.append("\(row.name): checksums differ: \(checksums)") }
    check(row.name, "times OpenCombine", ratios[0], atLeast: row.floor)
    check(row.name, "times a closure chain", ratios[2].map { 1 / $0 }, atMost: row.closureFloor)
    check(row.name, "allocations", allocations, atMost: row.allocationFloor)
    let cells =
      [row.name, format(own), format(allocations)] + ratios.prefix(2).map { $0.map { format($0) + "x" } ?? "" }
      + [ratios[2].map { format(1 / $0) } ?? "", bounds(row.floor, row.closureFloor, row.allocationFloor)]
      + [bounds(row.aim, row.closureAim, row.allocationAim)]
    print("| " + cells.joined(separator: " | ") + " |")
  }

  private mutating func check(
    _ row: String, _ what: String, _ value: Double?, atLeast low: Double? = nil, atMost high: Double? = nil
  ) {
    guard let value else { return }
    if value < low ?? value { misses.append("\(row): \(format(value)) \(what), the floor is \(format(low ?? 0))") }
    if value > high ?? value { misses.append("\(row): \(format(value)) \(what), at most \(format(high ?? 0))") }
  }

  private func bounds(_ ratio: Double?, _ closures: Double?, _ allocations: Double?) -> String {
    [
      ratio.map { format($0) + "x" }, closures.map { format($0) + " closures" },
      allocations.map { format($0) + " allocations" },
    ].compactMap { $0 }.joined(separator: ", ")
  }

  private func format(_ value: Double) -> String {
    value >= 100 ? "\(Int(value.rounded()))" : "\((value * 10).rounded() / 10)"
  }
}
