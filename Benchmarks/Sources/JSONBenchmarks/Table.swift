import CAllocations
import Foundation
import Measuring

/// Measures rows, interleaved, and prints them as Markdown.
struct Table {
  let rounds: Int
  let peers: [Peer]
  private(set) var misses: [String] = []

  init(rounds: Int, peers: [Peer]) {
    self.rounds = rounds
    self.peers = peers
    let names =
      ["text", "work", "µs", "MB/s", "allocations per object", "Foundation"] + peers.map(\.name) + ["floor", "aim"]
    print("| " + names.joined(separator: " | ") + " |")
    print("|" + String(repeating: "---|", count: names.count))
  }

  mutating func measure(_ row: Row, only: Int? = nil) throws {
    var times = [[Double]](repeating: [], count: 2 + peers.count)
    var allocations = 0.0
    let repetitions = max(1, 400_000 / row.payload.data.count)
    for round in 0...rounds {
      for (index, work) in [row.ours, row.theirs].enumerated() where only == nil || only == index {
        // Foundation gets fewer repetitions, since it is slower.
        let count = index == 0 ? repetitions * 10 : repetitions
        let before = allocation_count()
        let start = processorNanoseconds()
        var sum = 0
        for _ in 0..<count { sum += try work() }
        let time = (processorNanoseconds() - start) / Double(count)
        if sum == 0 { misses.append("\(row.name): nothing came of it") }
        if index == 0 { allocations = Double(allocation_count() - before) / Double(count) }
        // The first round warms up.
        if round > 0 { times[index].append(time) }
      }
      for (index, peer) in peers.enumerated() where only == nil {
        if let work = row.peerWork, let time = try peer.measure(work, row.payload, repetitions * 10), round > 0 {
          times[2 + index].append(time)
        }
      }
    }
    let medians = times.map { times in times.isEmpty ? nil : times.sorted()[times.count / 2] }
    guard let own = medians[0] else { return }
    let ratios = medians.dropFirst().map { $0.map { $0 / own } }
    if let ratio = ratios.first ?? nil, ratio < row.floor {
      misses.append(
        "\(row.payload.name), \(row.name): \(format(ratio)) times Foundation, the floor is \(format(row.floor))")
    }
    let cells =
      [row.payload.name, row.name, format(own / 1000), format(Double(row.payload.data.count) / own * 1000)]
      + [format(allocations / Double(row.payload.containers))] + ratios.map { $0.map { format($0) + "x" } ?? "" }
      + [format(row.floor) + "x", row.aim.map { format($0) + "x" } ?? ""]
    print("| " + cells.joined(separator: " | ") + " |")
    fflush(nil)
  }

  private func format(_ value: Double) -> String {
    value >= 100 ? "\(Int(value.rounded()))" : "\((value * 10).rounded() / 10)"
  }
}
