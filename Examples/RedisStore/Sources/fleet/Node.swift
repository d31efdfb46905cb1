import Foundation
import RedisStore
import Repository
import Streams

/// One process: reads commands from its input, a line each, and writes what happens to its output.
///
///     get KEY | watch KEY | save KEY VALUE | invalidate KEY | clear | hits KEY COUNT
///
/// A request of the origin takes a while, and is counted as a byte at the end of a file that all processes share.
final class Node: Sendable {
  private let store: Store<String, String>
  private let bag = DisposeBag()

  init(port: Int, origin: String, delay: Duration, staleTime: Duration, lease: Duration) {
    let tier = RedisStore<String, String>(Redis(RedisServer(port: port)), partition: "fleet", leaseTime: lease)
    var configuration = StoreConfiguration<String>()
    configuration.freshness.staleTime = staleTime
    configuration.backoff = nil
    store = Store(configuration: configuration, sourceOfTruth: tier) { key in
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
      guard words.count > 1 || words == ["clear"] else { continue }
      switch words[0] {
      case "get":
        Task { await self.get(words[1]) }
      case "watch":
        store.values(words[1]).subscribe(onNext: { say("saw \(words[1]) \($0)") }).disposed(by: bag)
      case "save":
        store.save(words[2], for: words[1])
        await store.flush()
        say("saved \(words[1]) \(words[2])")
      case "invalidate":
        store.invalidate(words[1])
        await store.flush()
        say("invalidated \(words[1])")
      case "clear":
        try? store.clear()
        await store.flush()
        say("cleared")
      case "hits": await hits(words[1], Int(words[2]) ?? 1)
      default: say("what?")
      }
    }
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
    for _ in 0..<count { _ = try? await store.get(key).value }
    say("hits \(key) \(Int(Double(count) / ((ContinuousClock.now - began) / .seconds(1))))")
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
  guard file >= 0 else { throw CocoaError(.fileWriteUnknown) }
  defer { close(file) }
  _ = write(file, "x", 1)
  return Int(lseek(file, 0, SEEK_END))
}

/// Writes a line with the time in microseconds.
func say(_ text: String) {
  let line = "\(Int(Date().timeIntervalSince1970 * 1_000_000)) \(text)\n"
  FileHandle.standardOutput.write(Data(line.utf8))
}
