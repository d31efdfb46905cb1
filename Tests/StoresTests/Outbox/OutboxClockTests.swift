import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import Testing

@testable import Stores

/// Wall clocks that are set, machines that start again, and disks that are full: what they do to pauses and to the limit of
/// attempts.
@Suite(.timeLimit(.minutes(1))) struct OutboxClockTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()
  private let wall = Mutable(StoreTime(microseconds: 0))

  private func open(
    _ scheduler: TestScheduler, fileSystem: some FileSystem = SystemFileSystem()
  ) throws -> Outbox<String, String> {
    let clock = StoreClock(scheduler: scheduler) { [wall] in wall.value + scheduler.now }
    // It makes no attempt by itself.
    return try folder.outbox(server, clock: clock, fileSystem: fileSystem)
  }

  private func unavailable(retryAfter: Duration? = nil) -> OutboxServer.Mood {
    var error = RequestError(.httpStatus, "Oops.", status: 503)
    error.retryAfter = retryAfter
    return .fails(error)
  }

  @Test(arguments: [31_536_000, -31_536_000] as [Int64])
  func `E4: a clock that is set sets no mutation aside before an hour of attempts`(jump: Int64) async throws {
    let scheduler = TestScheduler()
    server.set(unavailable())
    _ = try await open(scheduler).outcome("a")
    for _ in 0..<27 {
      wall.update { $0 = $0 + .seconds(jump) }
      scheduler.advance(by: .seconds(128))
      try await open(scheduler).flush(evenDuringPause: true)
      #expect(try open(scheduler).contents() == ["a"])
    }
    #expect(server.received.count == 28)
    // An hour after the first attempt.
    scheduler.advance(by: .seconds(144))
    try await open(scheduler).flush(evenDuringPause: true)
    #expect(try open(scheduler).contents() == ["[a]"])
  }

  @Test func `E4: attempts count for no longer than the machine has run between them`() async throws {
    server.set(unavailable())
    for start in 0...8 {
      // The machine has started again, and a year has passed by its wall clock.
      wall.update { $0 = $0 + .seconds(86_400 * 365) }
      let scheduler = TestScheduler()
      scheduler.advance(by: .seconds(500 - start))
      if start == 0 { _ = try await open(scheduler).outcome("a") }
      try await open(scheduler).flush(evenDuringPause: start > 0)
      // After the first one, eight times nearly 500 seconds.
      #expect(try open(scheduler).contents() == [start < 8 ? "a" : "[a]"], "start \(start)")
    }
    #expect(server.received.count == 9)
  }

  @Test(arguments: [31_536_000, -31_536_000] as [Int64])
  func `E4: a pause lasts as long as it was to, though the wall clock is set`(jump: Int64) async throws {
    let scheduler = TestScheduler()
    server.set(unavailable(retryAfter: .seconds(600)))
    let first = try open(scheduler)
    _ = await first.outcome("a")
    wall.update { $0 = $0 + .seconds(jump) }
    scheduler.advance(by: .seconds(599))
    for outbox in [first, try open(scheduler)] { #expect(await outbox.flush().error != nil) }
    #expect(server.received.count == 1)
    scheduler.advance(by: .seconds(1))
    server.set(.answers)
    #expect(try await open(scheduler).flush().sent.map(\.mutation) == ["a"])
  }

  @Test(arguments: [0, 5_000] as [Int64])
  func `E4: a pause ends after the machine's next start when it has run for that long`(uptime: Int64) async throws {
    let earlier = TestScheduler()
    earlier.advance(by: .seconds(uptime))
    server.set(unavailable(retryAfter: .seconds(600)))
    _ = try await open(earlier).outcome("a")
    let scheduler = TestScheduler()
    scheduler.advance(by: .seconds(500))
    let outbox = try open(scheduler)
    #expect(await outbox.flush().error != nil)
    #expect(server.received.count == 1)
    scheduler.advance(by: .seconds(100))
    server.set(.answers)
    #expect(await outbox.flush().sent.map(\.mutation) == ["a"])
  }

  @Test func `a pause that there is no room for on disk holds in its process`() async throws {
    let (scheduler, files) = (TestScheduler(), FaultyFileSystem())
    let outbox = try open(scheduler, fileSystem: files)
    server.set(unavailable(retryAfter: .seconds(600)))
    let submission = Recorder(outbox.submit("a"))
    await outbox.added()
    files.setFull(true)
    await outbox.lastTurn()
    #expect(submission.error.value is OutboxError)
    for _ in 0..<50 { #expect((await outbox.flush().error as? RequestError)?.status == 503) }
    let attempts = server.received.count
    #expect(attempts == 1)
    scheduler.advance(by: .seconds(600))
    server.set(.answers)
    #expect(await outbox.flush().sent.map(\.mutation) == ["a"])
  }

  @Test func `a pause that another process has ended holds no longer, though there was room for it`() async throws {
    let scheduler = TestScheduler()
    server.set(unavailable(retryAfter: .seconds(600)))
    let outbox = try open(scheduler)
    _ = await outbox.outcome("a")
    server.set(.answers)
    #expect(try await open(scheduler).flush(evenDuringPause: true).error == nil)
    #expect(await outbox.outcome("b") == "did b")
  }

  @Test func `a pause that cannot be removed is over where an attempt has succeeded`() async throws {
    let (scheduler, files) = (TestScheduler(), FaultyFileSystem())
    let outbox = try open(scheduler, fileSystem: files)
    server.set(unavailable(retryAfter: .seconds(600)))
    _ = await outbox.outcome("a")
    server.set(.answers)
    files.keepFiles(endingWith: "/pause")
    #expect(await outbox.flush(evenDuringPause: true).sent.map(\.mutation) == ["a"])
    #expect(await outbox.outcome("b") == "did b")
  }
}
