import Dispatch
import Foundation
import Stores
import StoresTestSupport
import Streams
import TestSupport
import Testing

@Suite("optimistic changes")
struct MutationTests {
  let server = FakeServer<String, [String]>()
  let store: Store<String, [String]>

  init() {
    store = Store(.ofPartial(server.fetch))
    store.save(["a"], for: "k")
  }

  func adding(_ item: String) -> Recorder<[String]> {
    Recorder(
      store.mutate(.of("k") { $0.map { $0 + [item] } }, send: { [server] in server.fetch(item).map(\.value) }))
  }

  @Test func `a change is seen at once, then the server's response replaces it`() {
    let watch = Recorder(store.stream("k", .cacheOnly))
    let change = adding("b")
    #expect(watch.brief() == [#"["a"] memory"#, #"["a", "b"] optimistic"#])
    server[0].answer(["a", "B"])
    #expect(watch.brief() == [#"["a", "B"] memory"#])
    #expect(change.take() == [["a", "B"]])
    #expect(change.isCompleted.value)
  }

  @Test func `a failure takes the change back, and fails the stream`() {
    let watch = Recorder(store.stream("k", .cacheOnly))
    let change = adding("b")
    server[0].fail()
    #expect(watch.brief() == [#"["a"] memory"#, #"["a", "b"] optimistic"#, #"["a"] memory"#])
    #expect(change.error.value is Failure)
  }

  @Test(arguments: [0, 1], [[false, false], [false, true], [true, false], [true, true]])
  func `O6: changes end in either order`(firstToEnd: Int, fails: [Bool]) {
    let server = FakeServer<String, Set<String>>()
    let store = Store<String, Set<String>>(.ofPartial(server.fetch))
    store.save(["a"], for: "k")
    var kept: Set<String> = ["a"]
    let changes = ["b", "c"].map { item in
      Recorder(store.mutate(.of("k") { $0?.union([item]) }, send: { server.fetch(item).map(\.value) }))
    }
    #expect(store.peek("k")?.value == ["a", "b", "c"])
    for index in [firstToEnd, 1 - firstToEnd] {
      if fails[index] {
        server[index].fail()
      } else {
        kept.insert(["b", "c"][index])
        server[index].answer(kept)
      }
    }
    #expect(store.peek("k")?.value == kept)
    #expect(store.peek("k")?.source == .memory)
    #expect(changes.allSatisfy { $0.isCompleted.value || $0.error.value != nil })
  }

  @Test(arguments: [0, 1], [0, 1])
  func `O6: no confirmed change is lost, in whatever order the server works and its responses come`(
    firstAtServer: Int, firstToCome: Int
  ) {
    for isForAll in [true, false] {
      let server = FakeServer<Int, Set<Int>>()
      let store = Store<String, Set<Int>>(.ofPartial(FakeServer<String, Set<Int>>().fetch))
      store.save([9], for: "k")
      let changes = (0..<2).map { item in
        Recorder(
          isForAll
            ? store.mutate(
              .ofAll(keyForResponse: { _ in "k" }) { $1.contains(item) ? nil : $1.union([item]) },
              send: { server.fetch(item).map(\.value) })
            : store.mutate(.of("k") { $0?.union([item]) }, send: { server.fetch(item).map(\.value) }))
      }
      for item in [firstToCome, 1 - firstToCome] {
        server[item].answer(item == firstAtServer ? [9, item] : [9, 0, 1])
      }
      #expect(store.peek("k")?.value == [9, 0, 1])
      #expect(store.peek("k")?.source == .memory)
      #expect(changes.allSatisfy { $0.isCompleted.value })
    }
  }

  @Test func `a response that comes after one of a later request does not replace it`() {
    let change = adding("b")
    let later = Recorder(store.get("k", .networkOnly))
    server.requests.value.last?.answer(["a", "b", "c"])
    server[0].answer(["a", "b"])
    #expect(store.peek("k")?.value?.contains("c") == true)
    #expect(change.isCompleted.value)
    #expect(later.isCompleted.value)
  }

  @Test func `a response replaces a missing or partial value, whatever was written meanwhile`() {
    let changes = [adding("b"), adding("c")]
    server[1].answer(["a", "c"])
    store.remove("k")
    let partial = Recorder(store.get("k", .networkOnly))
    server[2].answer(["part"], errors: [Failure()])
    server[0].answer(["a", "b", "c"])
    #expect(store.peek("k")?.value == ["a", "b", "c"])
    #expect(store.peek("k")?.errors.isEmpty == true)
    #expect(changes.allSatisfy { $0.isCompleted.value })
    #expect(partial.isCompleted.value)
  }

  @Test func `disposing takes a change back`() {
    let change = adding("b")
    #expect(store.peek("k")?.value == ["a", "b"])
    change.dispose()
    #expect(store.peek("k")?.value == ["a"])
    #expect(server[0].isCancelled.value)
  }

  @Test func `a response to a request that began before lies below the change, and does not overwrite the server's`() {
    let early = Recorder(store.get("k", .networkOnly))
    let change = adding("b")
    server[0].answer(["new"])
    #expect(store.peek("k")?.value == ["new", "b"])
    #expect(early.take().first?.value == ["new", "b"])
    let other = Recorder(store.get("k", .networkOnly))
    server[1].answer(["new", "B"])
    server[2].answer(["old"])
    #expect(store.peek("k")?.value == ["new", "B"])
    #expect(other.isCompleted.value)
    #expect(change.isCompleted.value)
  }

  @Test func `a change of all values wakes those whom it concerns, and is kept when the server agrees`() {
    for key in ["x", "y"] { store.save(["a", "b"], for: key) }
    let watches = ["k", "x", "y"].map { Recorder(store.stream($0, .cacheOnly)) }
    for watch in watches { _ = watch.take() }
    let change = Recorder(
      store.mutate(
        .ofAll(keyForResponse: { _ in "x" }) { _, value in value.contains("b") ? value.filter { $0 != "b" } : nil },
        send: { [server] in server.fetch("x").map(\.value) }))
    #expect(watches.map { $0.brief() } == [[], [#"["a"] optimistic"#], [#"["a"] optimistic"#]])
    server[0].answer(["answer"])
    #expect(watches.map { $0.brief() } == [[], [#"["answer"] memory"#], [#"["a"] memory"#]])
    #expect(change.isCompleted.value)
  }

  @Test func `update changes what is there, and nothing else`() {
    store.update("k") { $0.append("b") }
    store.update("none") { $0.append("b") }
    #expect(store.peek("k")?.value == ["a", "b"])
    #expect(store.peek("none") == nil)
  }

  @Test func `updates by many threads are all there`() throws {
    try race(8) { [store] thread in
      for index in 0..<50 { store.update("k") { $0.append("\(thread)-\(index)") } }
    }
    #expect(Set(store.peek("k")?.value ?? []).count == 401)
  }

  @Test func `no watcher sees a mix of two states while changes race`() throws {
    let store = Store<String, [Int]>(.ofPartial(FakeServer<String, [Int]>().fetch))
    store.save([0, 0], for: "k")
    let mixed = Mutable(0)
    let watch = store.stream("k", .cacheOnly).subscribe(onNext: { snapshot in
      if let value = snapshot.value, Set(value).count != 1 { mixed.update { $0 += 1 } }
    })
    try race(4) { thread in
      for index in 0..<100 {
        let number = thread * 1_000 + index
        let change = store.mutate(
          .of("k") { $0.map { $0.map { _ in number } } },
          send: { index % 2 == 0 ? .just([number, number]) : .error(Failure()) })
        Recorder(change).dispose()
      }
    }
    watch.dispose()
    #expect(mixed.value == 0)
    #expect(store.peek("k")?.source == .memory)
  }

  @Test func `a replaced value is released outside the lock`() {
    let isFree = Mutable<[Bool]>([])
    let server = FakeServer<String, Held>()
    let store = Store<String, Held>(.ofPartial(server.fetch))
    let held = {
      Held {
        // As if another thread, on which this one waits, held a lock and used the store.
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          _ = store.statistics
          done.signal()
        }
        isFree.update { $0.append(done.wait(timeout: .now() + 5) == .success) }
      }
    }
    let watch = store.stream("k", .cacheAndNetwork).subscribe(onNext: { _ in })
    for _ in 0..<2 {
      server.requests.update { $0.removeLast() }.fail(held())
      let get = store.get("k", .networkOnly).subscribe(onError: { _ in })
      server.requests.update { $0.removeLast() }.answer(held(), errors: [held()])
      get.dispose()
      store.invalidate("k")
    }
    store.save(held(), for: "k")
    store.remove("k")
    watch.dispose()
    #expect(isFree.value == Array(repeating: true, count: 7))
  }

  @Test func `the user's closures run under no lock`() {
    // Each of them uses the store that calls it.
    let box = Mutable<Store<String, Int>?>(nil)
    var configuration = StoreConfiguration<Int>()
    configuration.cost = { _ in box.value?.statistics == nil ? 1 : 2 }
    configuration.isCacheable = { _ in box.value?.statistics != nil }
    configuration.clock = StoreClock {
      _ = box.value?.statistics
      return .now()
    }
    let store = Store<String, Int>(
      .ofStream { _ in
        box.value?.save(6, for: "other")
        return .just(1)
      }, configuration: configuration,
      keyForResponse: { key, _ in
        box.value?.save(7, for: "other")
        return key
      })
    box.update { $0 = store }
    let get = Recorder(store.get("k", .networkOnly))
    let change = Recorder(
      store.mutate(.of("k") { _ in box.value?.statistics == nil ? nil : 2 }, send: { .just(3) }))
    store.update("k") { $0 += box.value?.peek("other")?.value ?? 0 }
    #expect(get.isCompleted.value)
    #expect(change.isCompleted.value)
    #expect(store.peek("k")?.value == 10)
    box.update { $0 = nil }
  }
}

/// A value, or an error, that tells when it is released.
private final class Held: Error {
  private let onRelease: @Sendable () -> Void

  init(_ onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }

  deinit { onRelease() }
}
