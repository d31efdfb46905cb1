import Foundation
import GraphQLClient
import HTTPClientCore
import Streams
import StreamsTesting
import SystemBase
import TestSupport
import Testing

/// What is kept for a slow observer.
@Suite struct LiveBufferingTests {
  private struct Harness {
    let scheduler = TestScheduler()
    let source = PublishSubject<LiveEvent<Data>>()
    let seen: Seen<LiveEvent<Data>>

    init(_ buffering: LiveBuffering) {
      seen = Seen(source.asObservable().buffered(buffering, on: scheduler))
    }

    func send(_ numbers: some Sequence<Int>) {
      for number in numbers { source.onNext(.value(Data("\(number)".utf8))) }
    }

    /// What the observer gets once it has time, in short.
    func take() -> String {
      let count = seen.elements.count
      scheduler.run()
      return seen.elements.dropFirst(count).map(\.short).joined(separator: " ")
    }
  }

  @Test func `L4: nothing is dropped within the bound`() {
    let harness = Harness(.dropOldest(values: 3))
    harness.source.onNext(.connected)
    harness.send(1...3)
    #expect(harness.take() == "connected 1 2 3")
    harness.send(4...6)
    #expect(harness.take() == "4 5 6")
  }

  @Test func `L4: the oldest values are dropped, counted, and reported before the rest`() {
    let harness = Harness(.dropOldest(values: 3))
    harness.send(1...1000)
    #expect(harness.take() == "dropped(997) 998 999 1000")
    harness.send(1...4)
    #expect(harness.take() == "dropped(1) 2 3 4")
  }

  @Test func `L4: by latest, only the last value is kept, and the others are counted`() {
    let harness = Harness(.latest)
    harness.send(1...10)
    #expect(harness.take() == "dropped(9) 10")
  }

  @Test func `L4: the bound on bytes holds, but for a single value that is larger`() {
    let harness = Harness(.dropOldest(values: 100, bytes: 10))
    harness.send([1111, 2222, 3333])
    #expect(harness.take() == "dropped(1) 2222 3333")
    harness.send([123_456_789_012])
    #expect(harness.take() == "123456789012")
  }

  @Test func `L4: by fail, one value too many ends the subscription after what was kept, and the source at once`() {
    let harness = Harness(.fail(values: 2))
    let isDisposed = Locked(false)
    let source = PublishSubject<LiveEvent<Data>>()
    let seen = Seen(
      source.asObservable().do(onDispose: { isDisposed.withLock { $0 = true } })
        .buffered(.fail(values: 2), on: harness.scheduler))
    for number in 1...3 { source.onNext(.value(Data("\(number)".utf8))) }
    #expect(isDisposed.withLock { $0 })
    harness.scheduler.run()
    #expect(seen.elements.map(\.short) == ["1", "2"])
    #expect(seen.state.value.error?.kind == .overloaded)
  }

  @Test func `L2: a gap is reported although the values around it were dropped`() {
    let harness = Harness(.dropOldest(values: 1))
    let lost = LiveEvent<Data>.disconnected(RequestError(.connectionLost, "Cut."), retryAfter: .zero)
    harness.send([1])
    harness.source.onNext(lost)
    harness.source.onNext(.reconnected)
    harness.send([2])
    harness.source.onNext(lost)
    harness.source.onNext(.resumed)
    harness.send([3])
    #expect(harness.take() == "dropped(2) reconnected 3")
  }

  @Test func `a connection that comes and goes while the observer is busy takes no more and more memory`() {
    let harness = Harness(.dropOldest())
    let lost = LiveEvent<Data>.disconnected(RequestError(.connectionLost, "Cut."), retryAfter: .zero)
    for _ in 0..<10_000 {
      harness.source.onNext(lost)
      harness.source.onNext(.reconnected)
    }
    harness.source.onNext(lost)
    #expect(harness.take() == "reconnected disconnected")
  }

  @Test func `L4: what failed, or was dropped before, counts, too, and takes no more and more memory`() {
    let harness = Harness(.dropOldest(values: 2))
    for number in 0..<1000 {
      harness.source.onNext(.failed(RequestError(.graphQL, "\(number)")))
      harness.source.onNext(.dropped(2))
    }
    harness.send([7])
    #expect(harness.take().hasPrefix("dropped(2999) failed"))
    #expect(harness.seen.elements.count == 3)
  }

  @Test func `L2: each gap stays where it was while values are dropped before and behind it`() {
    let harness = Harness(.dropOldest(values: 4))
    for number in 1...9 {
      harness.source.onNext(number == 1 ? .connected : .reconnected)
      harness.send([number])
    }
    #expect(harness.take() == "dropped(5) connected reconnected 6 reconnected 7 reconnected 8 reconnected 9")
    harness.send([10])
    harness.source.onNext(.reconnected)
    #expect(harness.take() == "10 reconnected")
  }

  @Test func `the end comes after what was kept, and a disposed observer gets nothing`() {
    let harness = Harness(.dropOldest())
    harness.send(1...2)
    harness.source.onCompleted()
    #expect(harness.take() == "1 2")
    #expect(harness.seen.state.value.isCompleted)
    let other = Harness(.dropOldest())
    other.send(1...2)
    other.seen.dispose()
    #expect(other.take() == "")
  }

  @Test func `L5: an error comes behind what was kept, and cancelled in its place`() {
    for (kind, expected) in [(RequestError.Kind.connectionLost, "1 2"), (.cancelled, "")] {
      let harness = Harness(.dropOldest())
      harness.send(1...2)
      harness.source.onError(RequestError(kind, "The end."))
      #expect(harness.take() == expected)
      #expect(harness.seen.state.value.error?.kind == kind)
    }
  }

  @Test func `L4: an observer that is blocked delays neither the source nor other observers on the scheduler`()
    async throws
  {
    let (first, second) = (PublishSubject<LiveEvent<Data>>(), PublishSubject<LiveEvent<Data>>())
    let gate = DispatchSemaphore(value: 0)
    let scheduler = ConcurrentScheduler()
    let blocked = Seen(first.asObservable().buffered(.dropOldest(values: 10), on: scheduler)) { _ in gate.wait() }
    let free = Seen(second.asObservable().buffered(.dropOldest(values: 10_000), on: scheduler))
    for number in 0..<1000 {
      first.onNext(.value(Data("\(number)".utf8)))
      second.onNext(.value(Data("\(number)".utf8)))
    }
    try await free.state.wait { $0.elements.count == 1000 }
    for _ in 0..<1000 { gate.signal() }
    try await blocked.state.wait { $0.elements.last?.short == "999" }
    let dropped = blocked.elements.reduce(0) { if case .dropped(let count) = $1 { $0 + count } else { $0 } }
    #expect(dropped + blocked.elements.count { $0.value != nil } == 1000)
  }
}

extension LiveEvent<Data> {
  fileprivate var short: String {
    switch self {
    case .value(let data): String(decoding: data, as: UTF8.self)
    case .disconnected: "disconnected"
    case .dropped(let count): "dropped(\(count))"
    default: "\(self)"
    }
  }
}
