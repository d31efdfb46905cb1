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
      end("usage: fleet PORT FILE [DELAY [STALE [LEASE]]]")
    }
    let file = open(words[1], O_WRONLY | O_APPEND | O_CREAT, 0o600)
    guard file >= 0 else {
      end("fleet: cannot write to '\(words[1])': \(String(cString: strerror(errno))). Name a file that can be written.")
    }
    close(file)
    func time(_ place: Int, _ standard: Int) -> Duration {
      .milliseconds(times.count > place ? times[place] : standard)
    }
    let node = Node(
      port: port, origin: words[1], delay: time(0, 50), staleTime: time(1, 60_000), lease: time(2, 3_000))
    await node.run()
  }

  /// Says in one line what is wrong with the arguments.
  private static func end(_ line: String) -> Never {
    FileHandle.standardError.write(Data((line + "\n").utf8))
    exit(64)
  }
}
