import Foundation
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

@testable import Stores

/// Outboxes of many accounts: what waits in one is sent, also after its group has released it.
@Suite(.timeLimit(.minutes(1))) struct OutboxGroupTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()
  private let scheduler = TestScheduler()

  private func group(_ makes: @escaping @Sendable () -> Void = {}) -> OutboxGroup<String, String, String> {
    OutboxGroup(idleTimeout: .seconds(60), scheduler: scheduler) { [folder, server, scheduler] account in
      makes()
      return try Outbox(
        folder: folder.url, partition: account, clock: .scheduler(scheduler), scheduler: scheduler,
        isIdempotent: { _ in true }, send: { server.send($0, $1) })
    }
  }

  @Test func `an outbox that its group has released, and that gets a mutation by a reference, is found and sends it`()
    async throws
  {
    let group = group()
    var held: Outbox<String, String>? = try group.outbox(for: "mei")
    scheduler.advance(by: .seconds(120))
    server.set(.isAway)
    #expect(await held?.outcome("a") == "queued: cannot connect")
    await held?.lastTurn()
    let identity = held.map { ObjectIdentifier($0) }
    held = nil
    scheduler.advance(by: .seconds(1))
    #expect(group.accounts == ["mei"])
    #expect(try ObjectIdentifier(group.outbox(for: "mei")) == identity)
    server.set(.answers)
    scheduler.advance(by: .seconds(200))
    await (try group.outbox(for: "mei")).lastTurn()
    #expect(server.received == ["a"])
  }

  @Test func `an outbox that was in use at the last look is gone when its user is`() throws {
    let group = group()
    var held: Outbox<String, String>? = try group.outbox(for: "mei")
    weak let outbox = held
    // Its last look is the one that finds it in use.
    scheduler.advance(by: .seconds(120))
    #expect(group.accounts == ["mei"])
    withExtendedLifetime(held) {}
    held = nil
    #expect(outbox == nil)
    #expect(group.accounts == [])
  }

  @Test func `many callers at once for a new account get one outbox`() throws {
    let group = group { usleep(500) }
    for account in 0..<50 {
      let outboxes = Mutable<[ObjectIdentifier]>([])
      try race(4) { _ in
        let outbox = try? group.outbox(for: "\(account)")
        outboxes.update { $0.append(outbox.map { ObjectIdentifier($0) } ?? ObjectIdentifier(group)) }
      }
      #expect(Set(outboxes.value).count == 1)
      #expect(outboxes.value.first != ObjectIdentifier(group))
    }
  }

  @Test func `A2: an outbox that another process has signed out is replaced`() async throws {
    let group = group()
    let first = try group.outbox(for: "mei")
    try await folder.outbox(server, partition: "mei").signOut()
    _ = await first.flush()
    #expect(await first.outcome("a") == "The outbox's account was signed out.")
    #expect(await (try group.outbox(for: "mei")).outcome("b") == "did b")
  }
}
