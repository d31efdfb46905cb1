import StoresTestSupport
import Streams
import StreamsTesting
import Testing

@testable import Stores

/// What a step of an outbox costs that is long already, in calls of the file system.
@Suite(.timeLimit(.minutes(1))) struct OutboxCostTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()

  @Test func `a submit takes as many calls with many entries waiting as with few, and lists no folder`() async throws {
    let (scheduler, files) = (TestScheduler(), FaultyFileSystem())
    let outbox = try folder.outbox(server, clock: .scheduler(scheduler), scheduler: scheduler, fileSystem: files)
    server.set(.isAway)
    var calls: [[String]] = []
    for count in [2, 300] {
      while try outbox.names().count < count { _ = await outbox.outcome("a") }
      await outbox.lastTurn()
      files.fail(call: nil)
      _ = await outbox.outcome("b")
      await outbox.lastTurn()
      calls.append(files.names)
    }
    #expect(calls[0] == calls[1])
    #expect(!calls[0].contains("names"))
  }

  @Test func `sending an entry takes as many calls with many behind it as with few, and lists no folder`() async throws
  {
    var calls: [Int] = []
    for count in [20, 40, 60] {
      let files = FaultyFileSystem()
      let outbox = try folder.outbox(server, partition: "\(count)", fileSystem: files)
      server.set(.isAway)
      for number in 0..<count { _ = await outbox.outcome("\(number)") }
      server.set(.answers)
      files.fail(call: nil)
      #expect(await outbox.flush().sent.count == count)
      calls.append(files.calls)
      #expect(!files.names.contains("names"))
    }
    #expect(calls[2] - calls[1] == calls[1] - calls[0])
  }

  @Test func `an entry that another process adds, removes or queues again is seen, however soon`() async throws {
    let outbox = try folder.outbox(server)
    let other = try folder.outboxFolder()
    server.set(.isAway)
    for number in 0..<50 {
      _ = await outbox.outcome("mine \(number)")
      let entry = try other.append("yours \(number)", id: "\(number)", now: .now())
      if number.isMultiple(of: 2) {
        #expect(try outbox.refresh())
        #expect(outbox.newest == entry.name)
        try other.remove(entry.name)
        #expect(try outbox.refresh())
        #expect(outbox.newest != entry.name)
      } else {
        try other.update(entry.name) { entry in
          entry.refusal = "No."
          return true
        }
        #expect(try outbox.refresh())
        #expect(outbox.newest != entry.name)
        try other.update(entry.name) { entry in
          entry.refusal = nil
          return true
        }
        #expect(try outbox.refresh())
        #expect(outbox.newest == entry.name)
      }
    }
    // Each comes behind what the other process has added.
    #expect(try outbox.contents().count == 75)
    #expect(try outbox.entries().map(\.addedAt) == outbox.entries().map(\.addedAt).sorted())
  }
}
