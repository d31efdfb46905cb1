import Foundation
import RedisStore
import Repository
import StoreConformance
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
