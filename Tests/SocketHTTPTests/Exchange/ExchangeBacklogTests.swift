import Foundation
import Streams
import SystemBase
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// What waits for the observer of an exchange while its connection is read on for others.
@Suite struct ExchangeBacklogTests {
  private func bodies(of item: ExchangeBacklog.Item?) -> [Data] {
    guard case .parts(let parts)? = item else { return [] }
    return parts.compactMap { if case .body(let bytes) = $0 { bytes } else { nil } }
  }

  @Test func `it gives all that waits, then the end, and one thread at a time takes from it`() {
    let backlog = ExchangeBacklog()
    let hasEnded = Locked(false)
    #expect(backlog.add(.parts([.head(HTTPResponseHead(status: 200)), .body(Data("a".utf8))])))
    #expect(!backlog.add(.parts([.body(Data("b".utf8))])))
    #expect(bodies(of: backlog.next()?.item) == [Data("ab".utf8)])
    #expect(!backlog.add(.end { hasEnded.withLock { $0 = true } }))
    #expect(!backlog.add(.parts([.body(Data("c".utf8))])))
    #expect(bodies(of: backlog.next()?.item) == [Data("c".utf8)])
    guard case .end(let end)? = backlog.next()?.item else { return #expect(Bool(false), "there is no end") }
    end()
    #expect(hasEnded.withLock { $0 })
    #expect(backlog.next() == nil)
    #expect(backlog.add(.parts([.body(Data("d".utf8))])))
  }

  @Test func `it says that the observer wants nothing more`() {
    let backlog = ExchangeBacklog()
    _ = backlog.add(.parts([.body(Data("a".utf8))]))
    #expect(backlog.next()?.isOver == false)
    backlog.finish()
    _ = backlog.add(.end {})
    #expect(backlog.next()?.isOver == true)
  }

  /// A piece that comes over HTTP/2 may have the memory of a read, 64 KiB.
  @Test(arguments: [1, 3000, 10_000])
  func `T3: many small pieces take hardly more memory than their bytes`(size: Int) {
    let backlog = ExchangeBacklog()
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    for start in stride(from: 0, to: bytes.count, by: size) {
      _ = backlog.add(.parts([.body(Data(bytes[start..<start + size]))]))
    }
    let bodies = bodies(of: backlog.next()?.item)
    #expect(bodies.count <= 6)
    #expect(bodies.reduce(into: [UInt8]()) { $0 += $1 } == bytes)
  }

  @Test func `large pieces are not copied together`() {
    let backlog = ExchangeBacklog()
    for count in [40_000, 10, 40_000] { _ = backlog.add(.parts([.body(Data(count: count))])) }
    #expect(bodies(of: backlog.next()?.item).map(\.count) == [40_010, 40_000])
  }
}
