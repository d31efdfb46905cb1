import CAllocations
import Foundation
import Measuring

/// Measures rows, interleaved, and prints them as Markdown.
struct Table {
  let rounds: Int
  private(set) var misses: [String] = []
  /// The median times of the first library in nanoseconds, by row name.
  private(set) var times: [String: Double] = [:]

  init(rounds: Int) {
    self.rounds = rounds
    print("| work | " + Row.libraries.joined(separator: " | ") + " | allocations | ceiling |")
    print("|---|" + String(repeating: "---|", count: Row.libraries.count + 2))
  }

  mutating func measure(_ row: Row) throws {
    var times = row.works.map { _ in [Double]() }
    var checksums = Set<Int>()
    var allocations = 0.0
    for round in 0...rounds {
      for (index, work) in row.works.enumerated() {
        guard let work else { continue }
        var checksum = 0
        let clock = row.isInMemory ? processorNanoseconds : { Double(DispatchTime.now().uptimeNanoseconds) }
        let allocated = allocation_count()
        let start = clock()
        for operation in 0..<row.count { checksum &+= try work(operation) }
        let time = (clock() - start) / Double(row.count)
        checksums.insert(checksum)
        if index == 0 { allocations = Double(allocation_count() - allocated) / Double(row.count) }
        // The first round warms up.
        if round > 0 { times[index].append(time) }
      }
    }
    let medians = times.map { times in times.isEmpty ? nil : times.sorted()[times.count / 2] }
    if checksums.count != 1 { misses.append("\(row.name): checksums differ: \(checksums)") }
    self.times[row.name] = medians[0]
    for (library, ceiling) in row.ceilings {
      guard let own = medians[0], let place = Row.libraries.firstIndex(of: library), let other = medians[place] else {
        continue
      }
      check("\(row.name), in terms of \(library)", own / other, ceiling)
    }
    if let ceiling = row.allocationCeiling { check("\(row.name), allocations", allocations, ceiling) }
    let ceilings =
      (row.ceilings.map { "\(format($0.value))x \($0.key)" }
      + (row.allocationCeiling.map { ["\(format($0)) allocations"] } ?? [])).joined(separator: ", ")
    let empty = Array(repeating: "", count: Row.libraries.count - medians.count)
    let cells =
      [row.name] + medians.map { $0.map { duration($0) } ?? "" } + empty
      + [format(allocations), ceilings]
    print("| " + cells.joined(separator: " | ") + " |")
  }

  /// Compares two rows of the first library.
  mutating func compare(_ row: String, with other: String, ceiling: Double) {
    guard let time = times[row], let base = times[other] else { return }
    print("\n\(row): \(format(time / base)) times \(other), at most \(format(ceiling))")
    check("\(row), in terms of \(other)", time / base, ceiling)
  }

  private mutating func check(_ what: String, _ ratio: Double, _ ceiling: Double) {
    if ratio > ceiling { misses.append("\(what): \(format(ratio)), at most \(format(ceiling))") }
  }

  private func duration(_ nanoseconds: Double) -> String {
    switch nanoseconds {
    case ..<1_000: "\(format(nanoseconds)) ns"
    case ..<1_000_000: "\(format(nanoseconds / 1_000)) us"
    default: "\(format(nanoseconds / 1_000_000)) ms"
    }
  }

  private func format(_ value: Double) -> String {
    value >= 100 ? "\(Int(value.rounded()))" : "\((value * 10).rounded() / 10)"
  }
}
