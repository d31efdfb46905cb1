import Foundation
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

@testable import Stores

/// A sign-out, as other processes of the same folder find it.
@Suite(.timeLimit(.minutes(1))) struct OutboxSignOutTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()
  private let signedOut = "The outbox's account was signed out."

  private var entryFiles: [String] { folder.files.filter { $0.hasSuffix(".e1") } }

  @Test func `A2: a mutation that waits in another process is not sent after a sign-out`() async throws {
    server.set(.isAway)
    let (outbox, other) = (try folder.outbox(server), try folder.outbox(server))
    _ = await other.outcome("a")
    let changes = Recorder(other.changes)
    try await outbox.signOut()
    server.set(.answers)
    #expect(await other.flush().error as? OutboxError == .signedOut)
    #expect(await other.outcome("b") == signedOut)
    #expect(changes.isCompleted.value)
    #expect(other.hasEnded)
    #expect(server.received == [])
    #expect(entryFiles == [])
    // The account signs in again.
    #expect(try await folder.outbox(server).outcome("c") == "did c")
  }

  @Test func `A2: a mutation that another process is adding comes to nothing`() async throws {
    let files = FaultyFileSystem()
    let (outbox, other) = (try folder.outbox(server), try folder.outbox(server, fileSystem: files))
    files.beforeLock {
      // A thread's own, and not a task's, so that it blocks here.
      try? outbox.folder.signOut()
    }
    #expect(await other.outcome("a") == signedOut)
    #expect(server.received == [])
    #expect(entryFiles == [])
  }

  @Test(arguments: [true, false])
  func `A2: the response to a mutation that another process is sending comes to nothing`(isIdempotent: Bool)
    async throws
  {
    let gate = Latch()
    let received = Monitor(0)
    let other = try Outbox<String, String>(
      folder: folder.url, partition: "account", lockTimeout: .seconds(60), clock: .system,
      scheduler: TestScheduler(), fileSystem: SystemFileSystem(), isIdempotent: { _ in isIdempotent },
      send: { mutation, _ in
        .create { observer in
          received.update { $0 += 1 }
          gate.whenOpen {
            observer.onNext("did \(mutation)")
            observer.onCompleted()
          }
          return Disposables.create()
        }
      })
    let outbox = try folder.outbox(server)
    let changes = Recorder(other.changes)
    let shown = Mutable<[String]>([])
    let showing = other.showing { change, done in
      if case .sent(_, let response) = change { shown.update { $0.append(response) } }
      done()
      return {}
    } onCompleted: {
      {}
    }
    let submission = Recorder(other.submit("a"))
    try await received.wait { $0 == 1 }
    try await outbox.signOut()
    gate.open()
    await other.lastTurn()
    showing.dispose()
    #expect(submission.error.value.map { "\($0)" } == signedOut)
    #expect(submission.take() == [])
    #expect(shown.value == [])
    #expect(entryFiles == [])
    #expect(changes.take().allSatisfy { if case .sent = $0 { false } else { true } })
  }

  @Test func `A2: a sign-out is known to other processes though its entries cannot be removed, or marked at first`()
    async throws
  {
    for call in 0... {
      let (folder, server, files) = (TemporaryFolder(), OutboxServer(), FaultyFileSystem())
      let (outbox, other) = (try folder.outbox(server, fileSystem: files), try folder.outbox(server))
      server.set(.isAway)
      for mutation in ["a", "b"] { _ = await other.outcome(mutation) }
      files.fail(call: call)
      let result: Result<Void, any Error>
      do { result = .success(try await outbox.signOut()) } catch { result = .failure(error) }
      let isPast = files.calls <= call
      files.fail(call: nil)
      // As its caller does, which gets the failure.
      if case .failure = result { try await outbox.signOut() }
      server.set(.answers)
      #expect(await other.outcome("c") == "The outbox's account was signed out.", "call \(call)")
      #expect(server.received == [], "call \(call)")
      #expect(!folder.files.contains { $0.hasSuffix(".e1") }, "call \(call)")
      if isPast {
        #expect(call > 10)
        break
      }
    }
  }

  @Test func `D8, A2: a sign-out that was cut off anywhere is finished by the next process, or has not begun`()
    async throws
  {
    var hasBegun = false
    for call in 0... {
      let (folder, server, files) = (TemporaryFolder(), OutboxServer(), FaultyFileSystem())
      let outbox = try folder.outbox(server, fileSystem: files)
      server.set(.isAway)
      for mutation in ["a", "b", "c"] { _ = await outbox.outcome(mutation) }
      await outbox.lastTurn()
      files.fail(call: call, isLasting: true)
      let isFinished = (try? outbox.folder.signOut()) != nil
      server.set(.answers)
      // Elsewhere, where this process knows of no sign-out.
      let copy = try folder.copy()
      await (try copy.outbox(server)).flush()
      withExtendedLifetime(copy) {}
      if call > 0, server.received == [] { hasBegun = true }
      #expect(server.received == (hasBegun ? [] : ["a", "b", "c"]), "call \(call)")
      if isFinished {
        #expect(call > 10)
        break
      }
    }
  }

  @Test func `A2: an open outbox sends and adds nothing while a sign-out in another process is unfinished`()
    async throws
  {
    let files = FaultyFileSystem()
    let (outbox, other) = (try folder.outbox(server, fileSystem: files), try folder.outbox(server))
    server.set(.isAway)
    for mutation in ["a", "b"] { _ = await other.outcome(mutation) }
    await other.lastTurn()
    files.keepFiles(endingWith: ".e1")
    await #expect(throws: FileError.self) { try await outbox.signOut() }
    server.set(.answers)
    #expect(await other.flush().error as? OutboxError == .signedOut)
    #expect(await other.outcome("c") == signedOut)
    #expect(server.received == [])
    #expect(entryFiles.count == 2)
    files.keepFiles(endingWith: nil)
    try await outbox.signOut()
    #expect(entryFiles == [])
  }

  @Test func `a folder that was removed and made again is no sign-out`() async throws {
    server.set(.isAway)
    try await folder.outbox(server).signOut()
    let next = try folder.outbox(server)
    _ = await next.outcome("a")
    try FileManager.default.removeItem(at: folder.url)
    #expect(await next.outcome("b") == "queued: cannot connect")
    #expect(try next.contents() == ["b"])
  }

  @Test func `A2: an idle outbox shows nothing once another process has signed the account out`() async throws {
    server.set(.isAway)
    let (outbox, other) = (try folder.outbox(server), try folder.outbox(server))
    _ = await other.outcome("a")
    await outbox.flush()
    #expect(Recorder(outbox.changes).take().count == 1)
    try await other.signOut()
    let changes = Recorder(outbox.changes)
    await outbox.added()
    #expect(changes.take().isEmpty)
    #expect(changes.isCompleted.value)
    let store = Store<String, String>(.ofStream { _ in .never() })
    await store.save("v", for: "k")
    store.show(outbox) { _ in .ofAll(keyForResponse: { _ in "k" }) { _, value in value + "!" } }
    #expect(store.peek("k")?.value == "v")
  }

  @Test func `S1: a store hides what the server gave when an entry waits because it refuses the account`() async throws
  {
    let outbox = try folder.outbox(server)
    let store = Store<String, String>(.ofStream { _ in .never() })
    for key in ["k", "l"] { await store.save("v", for: key) }
    store.show(outbox) { _ in .ofAll(keyForResponse: { _ in "k" }) { _, _ in nil } }
    server.set(.fails(RequestError(.httpStatus, "Who?", status: 401)))
    #expect(await outbox.outcome("a") == "queued: HTTP status")
    #expect(store.peek("k") == nil)
    #expect(store.peek("l") == nil)
    #expect(try outbox.contents() == ["a"])
    // What the server gives from then on is shown.
    server.set(.answers)
    await outbox.flush()
    #expect(store.peek("k")?.value == "did a")
  }
}
