import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

@testable import Stores

/// When a mutation that was sent is reported, and removed: after the stores that show it have written the response.
@Suite(.timeLimit(.minutes(1))) struct OutboxShowingTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()

  private var entryFiles: [String] { folder.files.filter { $0.hasSuffix(".e1") } }

  /// A store whose writes end when the test says so.
  private final class Showing: Sendable {
    let pending = Monitor<[@Sendable () -> Void]>([])
    let seen = Mutable<[String]>([])
    let isCompleted = Mutable(false)
    private let showing = Mutable<(any Disposable)?>(nil)

    init(_ outbox: Outbox<String, String>) {
      let (pending, seen, isCompleted) = (pending, seen, isCompleted)
      let disposable = outbox.showing { change, done in
        switch change {
        case .sent(_, let response):
          seen.update { $0.append(response) }
          pending.update { $0.append(done) }
        case .added(let entry): seen.update { $0.append("+\(entry.mutation)") }
        case .refused(let entry, _), .withdrawn(let entry): seen.update { $0.append("-\(entry.mutation)") }
        }
        return {}
      } onCompleted: {
        isCompleted.update { $0 = true }
        return {}
      }
      showing.update { $0 = disposable }
    }

    func dispose() { showing.value?.dispose() }

    func finish() { for done in pending.update({ exchange(&$0, with: []) }) { done() } }
  }

  @Test func `E3: an entry is on disk, and not reported as sent, until all stores have written its response`()
    async throws
  {
    let outbox = try folder.outbox(server)
    let stores = [Showing(outbox), Showing(outbox)]
    let changes = Recorder(outbox.changes)
    let submission = Recorder(outbox.submit("a"))
    for store in stores { try await store.pending.wait { $0.count == 1 } }
    stores[0].finish()
    await outbox.added()
    #expect(entryFiles.count == 1)
    #expect(submission.take() == [])
    #expect(changes.take().count == 1)
    // One that comes now is not shown the change: its values may have it.
    let late = Showing(outbox)
    stores[1].finish()
    await outbox.lastTurn()
    #expect(entryFiles == [])
    #expect(submission.take() == ["did a"])
    guard case .sent? = changes.take().first else { return #expect(Bool(false)) }
    #expect(stores.map(\.seen.value) == [["+a", "did a"], ["+a", "did a"]])
    #expect(late.seen.value == [])
  }

  @Test func `a store that is disposed, or calls back twice, holds nothing up`() async throws {
    let outbox = try folder.outbox(server)
    let (disposed, other) = (Showing(outbox), Showing(outbox))
    let submission = Recorder(outbox.submit("a"))
    for store in [disposed, other] { try await store.pending.wait { $0.count == 1 } }
    let done = other.pending.value
    other.finish()
    done.first?()
    await outbox.added()
    #expect(entryFiles.count == 1)
    disposed.dispose()
    await outbox.lastTurn()
    #expect(submission.take() == ["did a"])
    #expect(entryFiles == [])
    // What the first entry's write reports late says nothing of the second's.
    let next = Recorder(outbox.submit("b"))
    try await other.pending.wait { $0.count == 1 }
    done.first?()
    await outbox.added()
    #expect(entryFiles.count == 1)
    other.finish()
    await outbox.lastTurn()
    #expect(next.take() == ["did b"])
  }

  @Test func `A2: a sign-out while a store writes a response reports nothing as sent`() async throws {
    let outbox = try folder.outbox(server)
    let store = Showing(outbox)
    let changes = Recorder(outbox.changes)
    let submission = Recorder(outbox.submit("a"))
    try await store.pending.wait { $0.count == 1 }
    try await outbox.signOut()
    await outbox.lastTurn()
    #expect(submission.error.value as? OutboxError == .signedOut)
    #expect(submission.take() == [])
    #expect(changes.take().count == 1)
    #expect(store.isCompleted.value)
    store.finish()
  }

  @Test func `R1: an entry whose response no store could write yet is sent again by the next process, under its key`()
    async throws
  {
    let outbox = try folder.outbox(server)
    let store = Showing(outbox)
    _ = Recorder(outbox.submit("a"))
    try await store.pending.wait { $0.count == 1 }
    // The process ends here.
    let names = try folder.outboxFolder().names()
    #expect(names.map(\.id) == server.keys)
    store.finish()
    await outbox.lastTurn()
  }

  @Test func `closing waits for the stores`() async throws {
    let outbox = try folder.outbox(server)
    let store = Showing(outbox)
    let submission = Recorder(outbox.submit("a"))
    try await store.pending.wait { $0.count == 1 }
    async let closing: Void = outbox.close()
    store.finish()
    await closing
    #expect(submission.take() == ["did a"])
    #expect(store.isCompleted.value)
    #expect(entryFiles == [])
  }
}
