import Foundation
import RedisStore
import Stores
import Streams
import Synchronization
import Testing

/// A Redis that refuses, is slow, or cannot be connected to.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct RefusalTests {
  private let server: RedisServerProcess

  init() throws { server = try RedisServerProcess() }

  private func connected(_ limit: Duration = .milliseconds(500)) -> Redis {
    let redis = Redis(RedisServer(port: server.port), timeLimit: limit)
    redis.waitUntilConnected()
    return redis
  }

  /// What is to be refused, and how it ends.
  enum Refusal: CaseIterable {
    case outOfMemory, readOnly

    func begin(_ server: RedisServerProcess) throws {
      switch self {
      case .outOfMemory: try server.command("CONFIG", "SET", "maxmemory", "1")
      case .readOnly: try server.command("REPLICAOF", "127.0.0.1", "1")
      }
    }

    func end(_ server: RedisServerProcess) throws {
      switch self {
      case .outOfMemory: try server.command("CONFIG", "SET", "maxmemory", "0")
      case .readOnly: try server.command("REPLICAOF", "NO", "ONE")
      }
    }
  }

  @Test(arguments: Refusal.allCases)
  func `F2: what Redis has refused while the connection stayed is written, marked and removed later`(
    _ refusal: Refusal
  ) async throws {
    let redis = connected()
    let (tier, other) = (RedisStore<String, String>(redis), RedisStore<String, String>(connected()))
    let users = Store<String, String>(.ofStream { _ in .never() }, storage: .async(tier))
    for key in ["marked", "removed"] { await users.save("old", for: key) }
    try refusal.begin(server)
    for number in 0..<25 { await users.save("new", for: "\(number)") }
    await users.invalidate("marked")
    await users.remove("removed")
    #expect(try await other.read("7") == nil)
    try refusal.end(server)
    // By itself, after a pause.
    for number in 0..<25 {
      while try await other.read("\(number)")?.value != "new" { try await Task.sleep(for: .milliseconds(20)) }
    }
    while try await other.read("marked")?.isInvalidated != true { try await Task.sleep(for: .milliseconds(20)) }
    while try await other.read("removed") != nil { try await Task.sleep(for: .milliseconds(20)) }
  }

  @Test func `what cannot be connected to says why`() async throws {
    try server.command("CONFIG", "SET", "requirepass", "secret")
    for (host, password, reason) in [
      ("127.0.0.1", "wrong", "WRONGPASS"), ("127.0.0.1", nil, "NOAUTH"), ("no-such-host.invalid", "secret", "resolve"),
    ] {
      let (reasons, said) = AsyncStream<String>.makeStream()
      let redis = Redis(RedisServer(host: host, port: server.port, password: password)) { said.yield("\($0)") }
      var first = reasons.makeAsyncIterator()
      let text = await first.next() ?? ""
      #expect(text.contains(reason) || host != "127.0.0.1" && !text.isEmpty, "\(text)")
      let failure = await #expect(throws: RedisError.self) { try await RedisStore<String, String>(redis).read("k") }
      #expect("\(String(describing: failure))".contains(reason) || host != "127.0.0.1")
    }
  }

  @Test func `F2: on a slow line, a call takes no longer than its limit`() async throws {
    let line = try SlowLine(to: server.port, bytes: 40, each: 0.03)
    let redis = Redis(RedisServer(port: line.port))
    redis.waitUntilConnected()
    let tier = RedisStore<String, String>(redis)
    let began = ContinuousClock.now
    await withTaskGroup { group in
      for number in 0..<100 { group.addTask { _ = try? await tier.read("\(number)") } }
    }
    #expect(ContinuousClock.now - began < .milliseconds(400), "The limit is 100")
    line.stop()
  }

  @Test func `reads by networkOnly are never answered from Redis`() async throws {
    let tier = RedisStore<String, String>(connected())
    let requests = Counter()
    let users = Store<String, String>(storage: .async(tier)) { key in
      try await tier.fetch(key) {
        "\(requests.next())"
      }
    }
    for number in 1...20 {
      let snapshot = try await users.get("k", .networkOnly).value
      #expect(snapshot.value == "\(number)")
      #expect(snapshot.source == .network)
    }
  }
}

private final class Counter: Sendable {
  private let count = Atomic(0)

  func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}

extension EntryVersion {
  static var now: EntryVersion { EntryVersion(time: StoreTime.now().microseconds, writer: 1) }
}
