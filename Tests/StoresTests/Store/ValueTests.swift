import HTTPClientCore
import Stores
import StoresTestSupport
import Testing

@Suite("Values of a repository")
struct ValueTests {
  private let late = RequestError(.timedOut, "Late.")

  @Test func `snapshots are equal by what they show, and print one line`() {
    let snapshot = Snapshot(
      value: 7, source: .memory, age: .seconds(3), isStale: true, errors: [late], isFetching: true)
    var other = snapshot
    #expect(snapshot == other)
    other.errors = [RequestError(.timedOut, "Later.")]
    #expect(snapshot != other)
    other.errors = [late, late]
    #expect(snapshot != other)
    #expect(snapshot.description == "memory, 3.0 seconds old, stale, fetching: 7; timed out: Late.")
    #expect(Snapshot<Int>(value: nil).description == "no source: no value")
  }

  @Test func `pages, states of a pager, and responses are equal by their values`() {
    #expect(Page([1], number: 1, isLast: false) == Page([1], next: 2))
    #expect(PagerState(items: [1], phase: .failed(late)) == PagerState(items: [1], phase: .failed(late)))
    #expect(PagerState(items: [1], phase: .failed(late)) != PagerState(items: [1], phase: .idle))
    #expect(Fetched(1, errors: [late]) == Fetched(1, errors: [late]))
    #expect(Fetched(1, errors: [late]) != Fetched(1))
  }

  @Test func `entries, changes, reports and errors of an outbox are equal by their values`() {
    let entry = OutboxEntry(id: "a", mutation: 1, addedAt: StoreTime(microseconds: 1))
    typealias Change = OutboxChange<Int, String>
    #expect(Change.sent(entry, "yes") == .sent(entry, "yes"))
    #expect(Change.sent(entry, "yes") != .sent(entry, "no"))
    #expect(Change.refused(entry, late) == .refused(entry, late))
    #expect(Change.added(entry) != .withdrawn(entry))
    #expect(OutboxReport(sent: [entry], error: late) == OutboxReport(sent: [entry], error: late))
    #expect(OutboxReport(sent: [entry], error: late) != OutboxReport(sent: [entry]))
    #expect(OutboxError.queued(because: late) == .queued(because: late))
    #expect(OutboxError.busy != .signedOut)
  }
}
