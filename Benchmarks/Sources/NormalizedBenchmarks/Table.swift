import Foundation
import Measuring

/// Works that are measured in turns, and what must hold of their times.
struct Table {
  /// One operation, which returns something of its result, so that the compiler can leave nothing out.
  typealias Work = () throws -> Int

  struct Row {
    let name: String
    /// What one run does, and how often.
    let work: Work
    let count: Int
    /// What is needed for a run, and does not count.
    var prepare: () throws -> Void = {}
  }

  let rounds: Int
  private(set) var misses: [String] = []

  init(rounds: Int) { self.rounds = rounds }

  /// Measures rows in turns, and returns the medians of their times in microseconds of the process's processor time for one
  /// operation, and for one `scale`th of it.
  mutating func measure(_ rows: [Row], scale: Double = 1) throws -> [Double] {
    var times = rows.map { _ in [Double]() }
    for round in 0...rounds {
      for (index, row) in rows.enumerated() {
        try row.prepare()
        var sum = 0
        let start = processorNanoseconds()
        for _ in 0..<row.count { sum &+= try row.work() }
        let time = (processorNanoseconds() - start) / 1_000 / Double(row.count) / scale
        if sum == 0 { misses.append("\(row.name): it has no result") }
        // The first round warms up.
        if round > 0 { times[index].append(time) }
      }
    }
    let medians = times.map { $0.sorted()[$0.count / 2] }
    for (row, median) in zip(rows, medians) { print("| \(row.name) | \(format(median)) | |") }
    return medians
  }

  static func printHead(_ what: String) { print("\n| \(what) | us | ceiling |\n|---|---|---|") }

  /// Prints what follows from the rows, and whether it is as it must be.
  mutating func expect(_ name: String, _ value: Double, atMost ceiling: Double) {
    print("| **\(name)** | **\(format(value))** | \(format(ceiling)) |")
    if value > ceiling { misses.append("\(name): \(format(value)), at most \(format(ceiling))") }
  }

  mutating func expect(_ name: String, _ value: Double, atLeast floor: Double) {
    print("| **\(name)** | **\(format(value))** | at least \(format(floor)) |")
    if value < floor { misses.append("\(name): \(format(value)), at least \(format(floor))") }
  }

  mutating func miss(_ what: String) { misses.append(what) }

  private func format(_ value: Double) -> String {
    abs(value) >= 100 ? "\(Int(value.rounded()))" : String(format: abs(value) < 10 ? "%.2f" : "%.1f", value)
  }
}
