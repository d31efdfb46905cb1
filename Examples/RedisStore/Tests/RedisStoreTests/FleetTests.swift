import Foundation
import RedisStore
import StoreConformance
import Stores
import Streams
import Synchronization
import Testing

@Suite("a Redis as the tier of many processes", .serialized)
struct FleetTests {
  let server: RedisServerProcess
  let origin = FileManager.default.temporaryDirectory.appendingPathComponent("origin-\(UUID().uuidString)").path

  init() throws { server = try RedisServerProcess() }

  /// Processes that are connected.
  func makeProcesses(_ count: Int, _ times: String...) async throws -> [FleetProcess] {
    let processes = try (0..<count).map { _ in try FleetProcess(["\(server.port)", origin] + times) }
    for process in processes { try await process.wait { $0 == "ready" } }
    // Each has a connection that is tracked, once it has made both.
    let deadline = ContinuousClock.now + .seconds(10)
    while try !server.command("INFO", "clients").contains("tracking_clients:\(count)"), .now < deadline {
      try await Task.sleep(for: .milliseconds(10))
    }
    return processes
  }

  var originRequests: Int {
    (try? FileManager.default.attributesOfItem(atPath: origin)[.size] as? Int) ?? 0
  }

  @Test(arguments: [[], ["7000"], ["x", "file"], ["0", "file"], ["7000", "file", "x"], ["7000", "file", "-1"]])
  func `wrong arguments are one line, and the exit code is 64`(_ arguments: [String]) throws {
    let end = try FleetProcess.end(with: arguments)
    #expect(end.status == 64)
    #expect(end.message == "usage: fleet PORT FILE [DELAY [STALE [LEASE]]]\n")
  }

  @Test(arguments: [
    [], ["1", "70000", "7000", "/tmp", "1"], ["1", "7000", "0", "/tmp", "1"], ["-1", "7000", "7001", "/tmp", "1"],
    ["1", "7000", "7001", "/tmp", "-1"], ["1", "7000", "7001", "/tmp", "x"],
  ]) func `wrong arguments of the program under load are one line, too`(_ arguments: [String]) throws {
    let end = try FleetProcess.end(of: "soak-member", with: arguments)
    #expect(end.status == 64)
    #expect(end.message == "usage: soak-member NUMBER REDIS-PORT GATEWAY-PORT FOLDER PAUSE-MS\n")
  }

  @Test func `a path that cannot be written is named in one line, and the exit code is 64`() throws {
    let file = try FleetProcess.end(with: ["7000", "/no/such/file"])
    #expect(file.status == 64)
    let reason = "No such file or directory. Name a file that can be written."
    #expect(file.message == "fleet: cannot write to '/no/such/file': \(reason)\n")
    let folder = try FleetProcess.end(of: "soak-member", with: ["1", "7000", "7001", "/dev/null/x", "1"])
    #expect(folder.status == 64)
    #expect(folder.message == "soak-member: no folder '/dev/null/x' can be made. Name one that can be written.\n")
  }

  @Test func `an unknown or incomplete command is reported`() async throws {
    let process = try await makeProcesses(1, "20")[0]
    for line in ["save k", "hits k", "tick k 0", "get", "nothing"] {
      process.send(line)
      try await process.wait { $0 == "what? \(line)" }
    }
  }

  @Test(arguments: StoreConformance.asyncCases)
  func `it conforms`(_ test: StoreConformance.AsyncCase) async throws {
    let address = RedisServer(port: server.port)
    try await test.check { partition in
      let redis = Redis(address, timeLimit: .seconds(2))
      redis.waitUntilConnected()
      return RedisStore<String, String>(redis, partition: partition)
    }
  }

  @Test func `F1: a write reaches the watchers of all other processes within 50 ms`() async throws {
    let processes = try await makeProcesses(4)
    processes[0].send("save k 0")
    try await processes[0].wait { $0 == "saved k 0" }
    for process in processes { process.send("watch k") }
    for process in processes { try await process.wait { $0 == "saw k 0" } }
    var delays: [Int] = []
    for round in 1...20 {
      processes[round % 4].send("save k \(round)")
      let saved = try await processes[round % 4].wait { $0 == "saved k \(round)" }
      for process in processes {
        delays.append(try await process.wait { $0 == "saw k \(round)" }.microseconds - saved.microseconds)
      }
    }
    for process in processes {
      let seen = process.lines.map(\.text).filter { $0.hasPrefix("saw") }
      #expect(seen == (0...20).map { "saw k \($0)" })
    }
    #expect(delays.sorted()[delays.count * 9 / 10] < 50_000, "the delays in microseconds: \(delays)")
  }

  /// For each value that a process has read after the next one was reported as written: for how long, in microseconds.
  private func staleness(in readers: [FleetProcess], of writer: FleetProcess) -> [Int] {
    var written: [Int: Int] = [:]
    for line in writer.lines where line.text.hasPrefix("saved k ") {
      if let number = line.text.split(separator: " ").last.flatMap({ Int($0) }) { written[number] = line.microseconds }
    }
    var ages: [Int] = []
    for reader in readers {
      var values: [Int] = []
      for line in reader.lines where line.text.hasPrefix("left k ") {
        let words = line.text.split(separator: " ")
        guard words.count == 4, let value = Int(words[2]), let last = Int(words[3]) else { continue }
        values.append(value)
        if let next = written[value + 1] { ages.append(max(last - next, 0)) }
      }
      // None reads an older value after a newer one.
      #expect(values == Set(values).sorted())
    }
    return ages
  }

  @Test(arguments: [false, true])
  func `F1: no read is older than 50 ms, but for a few, or than a second if the connection is cut`(isCut: Bool)
    async throws
  {
    let processes = try await makeProcesses(4)
    let (writer, readers) = (processes[0], processes[1...])
    writer.send("save k 0")
    try await writer.wait { $0 == "saved k 0" }
    // One that watches is notified of each value; the others read the next one when they need it.
    processes[3].send("watch k")
    for reader in readers { reader.send("poll k 150") }
    writer.send("tick k 150 20")
    if isCut {
      try await writer.wait { $0 == "saved k 50" }
      try server.command("CLIENT", "KILL", "TYPE", "pubsub")
      try await writer.wait { $0 == "saved k 100" }
      try server.command("CLIENT", "KILL", "TYPE", "normal")
    }
    try await writer.wait { $0 == "ticked k" }
    for reader in readers { try await reader.wait { $0 == "polled k" } }
    let ages = staleness(in: Array(readers), of: writer).sorted()
    #expect(ages.count > 100)
    let (few, longest) = (ages[ages.count * 9 / 10], ages[ages.count - 1])
    #expect(few < 50_000 && longest < 1_000_000, "in microseconds: \(ages.suffix(40))")
  }

  @Test func `F4: two accounts in one Redis have values, leases and reports of their own`() async throws {
    let redis = (0..<2).map { _ in Redis(RedisServer(port: server.port), timeLimit: .seconds(2)) }
    for redis in redis { redis.waitUntilConnected() }
    let tiers = zip(redis, ["anna", "ben"]).map { RedisStore<String, String>($0, partition: $1) }
    let stores = zip(tiers, ["anna", "ben"]).map { tier, name in
      Store<String, String>(storage: .async(tier)) { key in
        try await tier.fetch(key) {
          // Both leases are taken at the same time.
          try await Task.sleep(for: .milliseconds(200))
          return "\(name)'s"
        }
      }
    }
    async let (anna, ben) = (stores[0].get("k").value.value, stores[1].get("k").value.value)
    #expect(try await [anna, ben] == ["anna's", "ben's"])
    for store in stores { await store.flush() }
    // Ben's process reports Anna's change to Anna's partition, and not to Ben's.
    let annasThere = RedisStore<String, String>(redis[1], partition: "anna")
    let reports: Mutex<[String: [SourceChange<String>]]> = Mutex([:])
    let bag = DisposeBag()
    for (name, tier) in [("anna", annasThere), ("ben", tiers[1])] {
      tier.changes.subscribe(onNext: { change in reports.withLock { $0[name, default: []].append(change) } })
        .disposed(by: bag)
    }
    await stores[0].save("changed", for: "only hers")
    await stores[0].flush()
    for _ in 0..<1_000 where !reports.withLock({ $0["anna"]?.contains(.key("only hers")) == true }) {
      try await Task.sleep(for: .milliseconds(1))
    }
    #expect(reports.withLock { $0["anna"]?.contains(.key("only hers")) } == true)
    #expect(reports.withLock { $0["ben"]?.contains { $0 != .key("k") } } != true)
    #expect(try await tiers[0].read("only hers")?.value == "changed")
    #expect(try await tiers[1].read("only hers") == nil)
    #expect(try await tiers[1].read("k")?.value == "ben's")
    try await stores[0].signOut()
    await stores[0].flush()
    #expect(try await tiers[0].keys() == [])
    #expect(try await tiers[1].keys() == ["k"])
  }

  @Test func `F3: of two fetches of a key in a process, the one that lost its lease writes nothing`() async throws {
    let redis = Redis(RedisServer(port: server.port), timeLimit: .seconds(2))
    redis.waitUntilConnected()
    let tier = RedisStore<String, String>(redis, partition: "fence")
    let (requests, request) = AsyncStream<Void>.makeStream()
    let gates = (0..<2).map { _ in AsyncStream<Void>.makeStream() }
    func fetch(_ number: Int) -> Task<String, any Error> {
      Task {
        try await tier.fetch("k") {
          request.yield()
          for await _ in gates[number].stream {}
          return "response \(number)"
        }
      }
    }
    var beginnings = requests.makeAsyncIterator()
    let old = fetch(0)
    _ = await beginnings.next()
    // The lease of the first fetch is gone, as after its time.
    _ = try await tier.invalidate("k", version: .now)
    let new = fetch(1)
    _ = await beginnings.next()
    gates[0].continuation.finish()
    let late = try await tier.write(
      StoredValue(old.value, writtenAt: .now(), version: .now), for: "k", isResponse: true)
    #expect(late == .superseded(by: .zero))
    #expect(try await tier.read("k") == nil)
    gates[1].continuation.finish()
    let kept = try await tier.write(
      StoredValue(new.value, writtenAt: .now(), version: .now), for: "k", isResponse: true)
    #expect(kept == .done)
    #expect(try await tier.read("k")?.value == "response 1")
  }

  @Test func `F2: a Redis that is full, or has something else under a key, costs no answer`() async throws {
    let processes = try await makeProcesses(1, "0")
    try server.command("SET", #"store:v:5:fleet:"text""#, "x")
    try server.command("HSET", #"store:v:5:fleet:"old""#, "d", "{", "w", "1", "i", "0", "n", "7")
    for key in ["text", "old"] {
      processes[0].send("get \(key)")
      try await processes[0].wait { $0.hasPrefix("got \(key) \(key)#") }
    }
    #expect(try server.command("HGET", #"store:v:5:fleet:"old""#, "d") == #""old#2""#)
    try server.command("CONFIG", "SET", "maxmemory", "1")
    processes[0].send("get full")
    try await processes[0].wait { $0.hasPrefix("got full full#3 ") }
  }

  @Test func `F3: eight processes that miss a key at once make one request`() async throws {
    let processes = try await makeProcesses(8, "300")
    for process in processes { for _ in 0..<64 { process.send("get k") } }
    for process in processes { try await process.wait { $0.hasPrefix("got k k#1 ") } }
    #expect(originRequests == 1)
  }

  @Test func `F3: when the process that asks is killed, another one takes over within the lease`() async throws {
    let processes = try await makeProcesses(3, "1500", "60000", "600")
    processes[0].send("get k")
    for _ in 0..<500 where originRequests == 0 { try await Task.sleep(for: .milliseconds(10)) }
    processes[0].kill()
    for process in processes[1...] { process.send("get k") }
    for process in processes[1...] { try await process.wait { $0.hasPrefix("got k k#2 ") } }
    #expect(originRequests == 2)
  }

  @Test func `F2: with a Redis that is stopped or asleep, a read costs 100 ms more and gets its answer`() async throws {
    let processes = try await makeProcesses(2, "0")
    try server.command("CLIENT", "PAUSE", "3000", "ALL")
    processes[0].send("get slow")
    let slow = try await processes[0].wait { $0.hasPrefix("got slow slow#") }
    #expect((slow.text.split(separator: " ").last.flatMap { Int($0) } ?? .max) < 250)
    server.stop()
    processes[1].send("get dead")
    let dead = try await processes[1].wait { $0.hasPrefix("got dead dead#") }
    #expect((dead.text.split(separator: " ").last.flatMap { Int($0) } ?? .max) < 250)
  }

  @Test func `after the connection for invalidations was killed, what was missed is read again`() async throws {
    let processes = try await makeProcesses(2)
    processes[0].send("save k 1")
    processes[1].send("watch k")
    try await processes[1].wait { $0 == "saw k 1" }
    try server.command("CLIENT", "KILL", "TYPE", "pubsub")
    processes[0].send("save k 2")
    try await processes[1].wait { $0 == "saw k 2" }
  }

  @Test func `after Redis was started again, processes share what is written, and what was written meanwhile`()
    async throws
  {
    let processes = try await makeProcesses(2)
    processes[1].send("watch k")
    processes[0].send("save k 1")
    try await processes[1].wait { $0 == "saw k 1" }
    server.stop()
    processes[0].send("save k 2")
    try await processes[0].wait { $0 == "saved k 2" }
    let again = try RedisServerProcess(port: server.port)
    defer { again.stop() }
    try await processes[1].wait { $0 == "saw k 2" }
    processes[1].send("save k 3")
    try await processes[1].wait { $0 == "saved k 3" }
    #expect(processes[1].lines.map(\.text).filter { $0.hasPrefix("saw") } == ["saw k 1", "saw k 2", "saw k 3"])
  }
}
