import Foundation

/// Compares StrictJSON with Foundation, and with other libraries whose programs are in a folder.
///
///     JSONBenchmarks [ROUNDS [FILTER [COLUMN]]]     a COLUMN, 0 or 1, for the profile of one library's work
///
/// A FILTER is the beginning of a line: "107 KB of moments, decode". The environment variable PEERS names the folder of
/// the other libraries' programs.
@main
struct Main {
  static func main() throws {
    let arguments = CommandLine.arguments
    let rounds = arguments.count > 1 ? Int(arguments[1]) ?? 5 : 5
    let filter = arguments.count > 2 ? arguments[2] : ""
    let only = arguments.count > 3 ? Int(arguments[3]) : nil
    let peers = ProcessInfo.processInfo.environment["PEERS"].map { Peer.all(in: URL(filePath: $0)) } ?? []
    var table = Table(rounds: max(1, rounds), peers: peers)
    for kind in Kind.allCases where filter.isEmpty || filter.hasPrefix(kind.rawValue) {
      for row in try kind.rows() where filter.isEmpty || "\(kind.rawValue), \(row.name)".hasPrefix(filter) {
        try table.measure(row, only: only)
      }
    }
    for miss in table.misses { print("\nmissed: \(miss)") }
    exit(table.misses.isEmpty ? 0 : 1)
  }
}
