import Foundation

/// `fleet PORT FILE [DELAY [STALE [LEASE]]]`: one process of a fleet, with times in milliseconds.
@main
enum Fleet {
  static func main() async {
    let words = Array(CommandLine.arguments.dropFirst())
    let times = words.dropFirst(2).compactMap { Int($0) }
    guard 2...5 ~= words.count, times.count == words.count - 2, times.allSatisfy({ $0 >= 0 }),
      let port = Int(words[0]), 1...65_535 ~= port
    else {
      FileHandle.standardError.write(Data("usage: fleet PORT FILE [DELAY [STALE [LEASE]]]\n".utf8))
      exit(64)
    }
    func time(_ place: Int, _ standard: Int) -> Duration {
      .milliseconds(times.count > place ? times[place] : standard)
    }
    let node = Node(
      port: port, origin: words[1], delay: time(0, 50), staleTime: time(1, 60_000), lease: time(2, 3_000))
    await node.run()
  }
}
