import Foundation
import Stores
import StoresTestSupport
import Streams
import TestSupport
import Testing

/// What a watcher that never returns costs the others.
@Suite(.timeLimit(.minutes(1))) struct StalledWatcherTests {
  private let server = FakeServer<String, Counted>()

  @Test func `O2: a watcher that stalls stops no other, and keeps its latest state alone`() throws {
    let store = Store<String, Counted>(.ofPartial(server.fetch))
    let live = Mutable(0)
    let (entered, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let seen = Mutable<[Int]>([])
    let ended = DispatchSemaphore(value: 0)
    let stalled = store.stream("k", .cacheOnly).subscribe(onNext: { snapshot in
      guard let value = snapshot.value else { return }
      seen.update { $0.append(value.number) }
      if value.number == 0 {
        entered.signal()
        gate.wait()
      }
    })
    Thread.detachNewThread {
      store.save(Counted(0, live), for: "k")
      ended.signal()
    }
    entered.wait()
    let other = Recorder(store.stream("k", .cacheOnly).map { $0.value?.number })
    #expect(other.take() == [0], "A new stream gets what is cached at once")
    for number in 1...1_000 { store.save(Counted(number, live), for: "k") }
    #expect(other.take() == Array(1...1_000))
    // What is cached, what the stalled one has in its hands, and what it gets next.
    #expect(live.value <= 4)
    gate.signal()
    ended.wait()
    #expect(seen.value == [0, 1_000])
    stalled.dispose()
  }

  @Test func `a watcher that is disposed of while it stalls keeps nothing`() throws {
    let live = Mutable(0)
    let (entered, gate, ended) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    do {
      let store = Store<String, Counted>(.ofPartial(server.fetch))
      let stalled = store.stream("k", .cacheOnly).subscribe(onNext: { snapshot in
        guard snapshot.value != nil else { return }
        entered.signal()
        gate.wait()
      })
      Thread.detachNewThread {
        store.save(Counted(0, live), for: "k")
        ended.signal()
      }
      entered.wait()
      for number in 1...10 { store.save(Counted(number, live), for: "k") }
      stalled.dispose()
      store.remove("k")
      gate.signal()
      ended.wait()
    }
    #expect(live.value == 0)
  }

  @Test func `a response that came and was written over while its watcher was busy ends the wait for the network`() {
    let server = FakeServer<String, Int>()
    var configuration = StoreConfiguration<Int>()
    configuration.isCacheable = { $0 != 7 }
    let store = Store(.ofPartial(server.fetch), configuration: configuration)
    store.save(0, for: "k")
    let (seen, isDue) = (Mutable<[Int?]>([]), Mutable(true))
    let watch = store.stream("k", .networkOnly).subscribe(onNext: { snapshot in
      seen.update { $0.append(snapshot.value) }
      guard !snapshot.errors.isEmpty, isDue.update({ exchange(&$0, with: false) }) else { return }
      store.invalidate("k")
      server[1].answer(7)
      store.update("k") { $0 += 1 }
    })
    server[0].fail()
    #expect(seen.value == [nil, nil, 1])
    watch.dispose()
  }

  @Test func `E1: a watcher that stalls stops no other one, no reader, no request and no write`() async throws {
    let (truth, network) = (MemoryTruth<String, Int>(), FakeServer<String, Int>())
    let store = Store(.ofPartial(network.fetch), storage: .source(truth))
    let gate = DispatchSemaphore(value: 0)
    let stalled = (0..<3).map { _ in
      store.stream("k", .cacheOnly).subscribe(onNext: { if $0.value == 1 { gate.wait() } })
    }
    let others = (0..<2).map { _ in Monitor([Int]()) }
    let watching = others.map { seen in
      store.stream("k", .cacheOnly).subscribe(onNext: { snapshot in seen.update { $0 += [snapshot.value ?? 0] } })
    }
    let read = Recorder(store.get("k", .networkOnly))
    Thread.detachNewThread { network[0].answer(1) }
    try await read.waitForCompletion()
    for seen in others { try await seen.wait { $0.last == 1 } }
    #expect(truth.read("k")?.value == 1)
    // What is written meanwhile reaches them, too, and takes no further thread.
    for number in 2...100 { await store.save(number, for: "k") }
    for seen in others { try await seen.wait { $0.last == 100 } }
    #expect(truth.read("k")?.value == 100)
    for _ in stalled { gate.signal() }
    for subscription in stalled + watching { subscription.dispose() }
  }
}

/// A value that counts how many there are of its kind.
final class Counted: Sendable {
  let number: Int
  private let live: Mutable<Int>

  init(_ number: Int, _ live: Mutable<Int>) {
    self.number = number
    self.live = live
    live.update { $0 += 1 }
  }

  deinit { live.update { $0 -= 1 } }
}
