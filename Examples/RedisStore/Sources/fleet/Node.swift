import Foundation
import RedisStore
import Stores
import Streams

/// One process: reads commands from its input, a line each, and writes what happens to its output.
///
///     get KEY | watch KEY | save KEY VALUE | invalidate KEY | clear | hits KEY COUNT
///     tick KEY COUNT PAUSE | poll KEY LAST
///
/// `tick` saves the numbers up to `COUNT`, with pauses in milliseconds, and `poll` reads until it has read `LAST`.
/// A request of the origin takes a while, and is counted as a byte at the end of a file that all processes share.
final class Node: Sendable {
  private let store: Store<String, String>
  private let bag = DisposeBag()

  init(port: Int, origin: String, delay: Duration, staleTime: Duration, lease: Duration) {
    let tier = RedisStore<String, String>(Redis(RedisServer(port: port)), partition: "fleet", leaseTime: lease)
    var configuration = StoreConfiguration<String>()
    configuration.freshness.staleTime = staleTime
    configuration.backoff = nil
    store = Store(storage: .async(tier), configuration: configuration) { key in
      try await tier.fetch(key) {
        let number = try count(in: origin)
        try await Task.sleep(for: delay)
        return "\(key)#\(number)"
      }
    }
  }

  func run() async {
    say("ready")
    for await line in lines() {
      let words = line.split(separator: " ").map(String.init)
      let counts = ["clear": 1, "get": 2, "watch": 2, "save": 3, "invalidate": 2, "hits": 3, "tick": 4, "poll": 3]
      guard let command = words.first, words.count == counts[command] else {
        say("what? \(line)")
        continue
      }
      switch command {
      case "get":
        Task { await self.get(words[1]) }
      case "watch":
        store.values(words[1]).subscribe(onNext: { say("saw \(words[1]) \($0)") }).disposed(by: bag)
      case "save": await save(words[2], for: words[1])
      case "invalidate":
        await store.invalidate(words[1])
        await store.flush()
        say("invalidated \(words[1])")
      case "clear":
        try? await store.clear()
        await store.flush()
        say("cleared")
      case "hits": await hits(words[1], max(Int(words[2]) ?? 1, 1))
      case "tick":
        for number in 1...max(Int(words[2]) ?? 1, 1) {
          await save("\(number)", for: words[1])
          try? await Task.sleep(for: .milliseconds(Int(words[3]) ?? 1))
        }
        say("ticked \(words[1])")
      default: Task { await self.poll(words[1], until: words[2]) }
      }
    }
  }

  private func save(_ value: String, for key: String) async {
    await store.save(value, for: key)
    await store.flush()
    say("saved \(key) \(value)")
  }

  /// Reads what the process and Redis have, again and again, and says of each value when the last read of it began.
  private func poll(_ key: String, until end: String) async {
    var last: (value: String, began: Int)?
    while last?.value != end {
      let began = microseconds()
      if let value = try? await store.get(key, .cacheOnly).value.value {
        if let last, value != last.value { say("left \(key) \(last.value) \(last.began)") }
        last = (value, began)
      }
      try? await Task.sleep(for: .milliseconds(1))
    }
    say("polled \(key)")
  }

  private func get(_ key: String) async {
    let began = ContinuousClock.now
    do {
      let snapshot = try await store.get(key, .staleWhileRevalidate).value
      say("got \(key) \(snapshot.value ?? "-") \(Int((ContinuousClock.now - began) / .milliseconds(1)))")
    } catch {
      say("failed \(key) \(error)")
    }
  }

  private func hits(_ key: String, _ count: Int) async {
    let began = ContinuousClock.now
    do {
      for _ in 0..<count { _ = try await store.get(key).value }
      say("hits \(key) \(Int(Double(count) / ((ContinuousClock.now - began) / .seconds(1))))")
    } catch {
      say("failed \(key) \(error)")
    }
  }

  /// The lines of standard input, read on a thread of its own.
  private func lines() -> AsyncStream<String> {
    AsyncStream { continuation in
      Thread.detachNewThread {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
      }
    }
  }
}

/// Adds a request to the count in a file, and returns the new count.
private func count(in path: String) throws -> Int {
  let file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0o600)
  guard file >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
  defer { close(file) }
  _ = write(file, "x", 1)
  return Int(lseek(file, 0, SEEK_END))
}

/// The time, by which those of several processes are compared.
private func microseconds() -> Int { Int(Date().timeIntervalSince1970 * 1_000_000) }

/// Writes a line with the time.
func say(_ text: String) {
  let line = "\(microseconds()) \(text)\n"
  FileHandle.standardOutput.write(Data(line.utf8))
}
