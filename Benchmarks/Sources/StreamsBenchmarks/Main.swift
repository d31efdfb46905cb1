import Foundation

@main
struct Main {
  static func main() async {
    let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 7
    let filter = CommandLine.arguments.dropFirst(2).first
    // For a profile of one library: its index in `Row.libraries`.
    let only = CommandLine.arguments.dropFirst(3).first.flatMap { Int($0) }
    var table = Table(rounds: max(5, rounds))
    for row in linearRows + combiningRows + asyncRows where filter == nil || row.name.contains(filter ?? "") {
      await table.measure(row, only: only)
    }
    for miss in table.misses { print("\nmissed: \(miss)") }
    exit(table.misses.isEmpty ? 0 : 1)
  }
}
