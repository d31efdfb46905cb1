import Foundation
import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import TestSupport
import Testing

@testable import Stores

/// In which order the observer of a followed stream gets events whose writes take time.
@Suite(.timeLimit(.minutes(1))) struct LiveOrderTests {
  private let truth = HeldTruth()
  private let events = PublishSubject<LiveEvent<String>>()
  private let cut = LiveEvent<String>.disconnected(RequestError(.connectionLost, "Cut."), retryAfter: .zero)

  /// Follows "k", whose values are appended, and fails at "!".
  private func follow() -> Observable<LiveEvent<String>> {
    let store = Store<String, String>(.ofStream { _ in .never() }, storage: .source(truth))
    store.save("", for: "k")
    truth.hold()
    return store.follow("k", events.asObservable()) { live, value in
      if live == "!" { throw Failure() }
      return value + live
    }
  }

  /// Sends a value, and a cut while that is written; then, while the observer is busy with the value, what is given.
  private func sendWhileBusy(_ sendNext: () -> Void) async throws -> Recorder<LiveEvent<String>> {
    let (entered, handler) = (Monitor(false), DispatchSemaphore(value: 0))
    let following = Recorder(
      follow().do(onNext: { event in
        guard event.value != nil else { return }
        entered.update { $0 = true }
        handler.wait()
      }))
    events.onNext(.value("a"))
    events.onNext(cut)
    truth.release()
    try await entered.wait { $0 }
    sendNext()
    handler.signal()
    return following
  }

  @Test func `L1: what comes while an observer is busy with a value does not overtake what had come before`()
    async throws
  {
    let following = try await sendWhileBusy { events.onNext(.resumed) }
    // A connection that has come back is of interest, and that it was gone is not.
    try await eventually { following.elements.value.count == 2 }
    #expect(following.elements.value == [.value("a"), .resumed])
  }

  @Test func `L1: the end of a stream does not overtake what had come before`() async throws {
    let following = try await sendWhileBusy { events.onCompleted() }
    try await following.waitForCompletion()
    #expect(following.elements.value == [.value("a"), cut])
  }

  @Test func `L1: a value that cannot be applied ends the stream behind the one that is being written`() async throws {
    let following = Recorder(follow())
    events.onNext(.value("a"))
    events.onNext(.value("!"))
    // It comes after the end, and is not written.
    events.onNext(.value("b"))
    truth.release()
    try await following.waitForEnd()
    #expect(following.elements.value == [.value("a")])
    #expect(following.error.value is Failure)
    #expect(truth.read("k")?.value == "a")
  }

  @Test(.timeLimit(.minutes(1)))
  func `L4: what comes while an observer is busy is kept no further than the subscription's bound`() async throws {
    let (bytes, handler, count) = (PublishSubject<LiveEvent<Data>>(), DispatchSemaphore(value: 0), 10_000)
    let store = Store<String, String>(.ofStream { _ in .never() }, storage: .source(truth))
    await store.save("", for: "k")
    let bounded = bytes.asObservable().buffered(.dropOldest(values: 1), on: ElasticScheduler()).map { event in
      event.map { String(decoding: $0, as: UTF8.self) }
    }
    let following = Recorder(
      store.follow("k", bounded) { live, _ in live }.do(onNext: { if $0.value == "0" { handler.wait() } }))
    for number in 0..<count { bytes.onNext(.value(Data("\(number)".utf8))) }
    bytes.onCompleted()
    handler.signal()
    try await following.waitForCompletion()
    let values = following.elements.value.compactMap(\.value)
    #expect(values.count < 1_500)
    #expect(values.last == "\(count - 1)")
    let dropped = following.elements.value.reduce(0) { if case .dropped(let count) = $1 { $0 + count } else { $0 } }
    #expect(dropped == count - values.count)
  }

  @Test func `L4: an observer that is not slow misses none of 300 events that wait for a write`() async throws {
    let following = Recorder(follow())
    for number in 0..<300 { events.onNext(.value(number == 0 ? "a" : "")) }
    truth.release()
    try await eventually { following.elements.value.count == 300 }
    #expect(following.elements.value.allSatisfy { $0.value != nil })
  }

  @Test func `E1: nobody waits for an observer that stalls, and all that comes is written`() async throws {
    let (handler, isSent) = (DispatchSemaphore(value: 0), Latch())
    let following = Recorder(follow().do(onNext: { if $0.value == "0 " { handler.wait() } }))
    Thread.detachNewThread { [events] in
      for number in 0..<1_000 { events.onNext(.value("\(number) ")) }
      isSent.open()
    }
    try await isSent.wait()
    truth.release()
    try await eventually { truth.read("k")?.value.hasSuffix(" 999 ") == true }
    handler.signal()
    following.dispose()
  }
}

/// A source of truth whose writes wait while they are held.
private final class HeldTruth: SourceOfTruth {
  private let truth = MemoryTruth<String, String>()
  private let gate = Mutable<DispatchSemaphore?>(nil)

  func hold() { gate.update { $0 = DispatchSemaphore(value: 0) } }
  func release() { gate.update { $0.take() }?.signal() }

  var waitsForOtherProcesses: Bool { true }
  func read(_ key: String) -> StoredValue<String>? { truth.read(key) }
  func write(_ stored: StoredValue<String>, for key: String) {
    gate.value?.wait()
    truth.write(stored, for: key)
  }
  func remove(_ key: String) { truth.remove(key) }
  func removeAll() { truth.removeAll() }
  func keys() -> [String] { truth.keys() }
}
