import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Which thread reads while the observer is behind.
@Suite struct WebSocketInboxTests {
  private static let large = String(repeating: "x", count: 100 << 10)

  /// An inbox, and what its observer gets; `action` is the observer's own.
  private static func inbox(
    limit: Int = 16 << 20, _ action: @escaping @Sendable (String) -> Void = { _ in }
  ) throws -> (WebSocketInbox, Locked<[String]>) {
    let got = Locked<[String]>([])
    let inbox = Locked<WebSocketInbox?>(nil)
    _ = Observable<WebSocketEvent>.create { observer in
      inbox.withLock { $0 = WebSocketInbox(observer, limit: limit, operationName: nil) }
      return Disposables.create()
    }.subscribe(onNext: { event in
      guard case .message(.text(let text)) = event else { return }
      let name = String(text.prefix(1))
      got.withLock { $0.append(name) }
      action(name)
    })
    return (try #require(inbox.withLock { $0.take() }), got)
  }

  private static func batch(_ names: String...) -> (events: [WebSocketEvent], size: Int) {
    let events = names.map { WebSocketEvent.message(.text($0 + large)) }
    return (events, events.reduce(0) { $0 + $1.size })
  }

  private static func add(_ batch: (events: [WebSocketEvent], size: Int), to inbox: WebSocketInbox) -> Bool {
    inbox.add(batch.events, size: batch.size)
  }

  @Test func `the thread of an observer that has caught up reads on, until nothing has arrived`() throws {
    let (inbox, got) = try Self.inbox()
    #expect(Self.add(Self.batch("a", "b"), to: inbox))
    #expect(inbox.pause() == .brief)
    var more = [Self.batch("c"), Self.batch("d", "e")]
    var reads = 0
    inbox.deliver(
      read: { _ in
        reads += 1
        #expect(!inbox.endPause(), "two threads read at once")
        return more.isEmpty ? nil : more.removeFirst()
      }, resume: { Issue.record("the loop was asked to read") })
    #expect(got.withLock { $0 } == ["a", "b", "c", "d", "e"])
    #expect(reads == 3)
    #expect(inbox.turn == 2)
    #expect(!inbox.endPause(), "a pause is left, though the loop is to read")
  }

  @Test func `while the observer blocks, the loop ends the pause, and what it reads comes behind`() throws {
    let read = Locked<() -> Void>({})
    let (inbox, got) = try Self.inbox { name in
      if name == "c" { read.withLock { $0 }() }
    }
    read.withLock {
      $0 = {
        #expect(inbox.endPause())
        #expect(!Self.add(Self.batch("e"), to: inbox), "another thread delivers already")
      }
    }
    _ = Self.add(Self.batch("a", "b"), to: inbox)
    #expect(inbox.pause() == .brief)
    var more = [Self.batch("c", "d"), Self.batch("z")]
    inbox.deliver(read: { _ in more.removeFirst() }, resume: { Issue.record("the loop was asked to read") })
    #expect(got.withLock { $0 } == ["a", "b", "c", "d", "e"])
    #expect(more.count == 1, "the thread read, though the loop did")
  }

  @Test func `after a full pause the loop reads again, when half of the limit waits`() throws {
    let resumptions = Locked<[Int]>([])
    let (inbox, got) = try Self.inbox(limit: 300 << 10)
    _ = Self.add(Self.batch("a", "b", "c", "d"), to: inbox)
    #expect(inbox.pause() == .full)
    inbox.deliver(
      read: { _ in
        Issue.record("the thread read")
        return nil
      }, resume: { resumptions.withLock { $0.append(got.withLock { $0.count }) } })
    #expect(got.withLock { $0 } == ["a", "b", "c", "d"])
    #expect(resumptions.withLock { $0 } == [3])
  }

  @Test func `an observer that has caught up before the pause needs none`() throws {
    let (inbox, _) = try Self.inbox()
    _ = Self.add(Self.batch("a", "b"), to: inbox)
    inbox.deliver(read: { _ in nil }, resume: {})
    #expect(inbox.pause() == .none)
  }
}
