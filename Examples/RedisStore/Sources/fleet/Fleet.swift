import Foundation

/// `fleet PORT FILE [DELAY [STALE [LEASE]]]`: one process of a fleet, with times in milliseconds.
@main
enum Fleet {
  static func main() async {
    let words = CommandLine.arguments.dropFirst()
    let numbers = words.map { Int($0) ?? 0 }
    guard words.count >= 2 else { return print("usage: fleet PORT FILE [DELAY [STALE [LEASE]]]") }
    func time(_ place: Int, _ standard: Int) -> Duration {
      .milliseconds(numbers.count > place ? numbers[place] : standard)
    }
    let node = Node(
      port: numbers[0], origin: words[words.startIndex + 1], delay: time(2, 50), staleTime: time(3, 60_000),
      lease: time(4, 3_000))
    await node.run()
  }
}
