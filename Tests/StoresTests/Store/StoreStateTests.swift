import Streams
import StreamsTesting
import Testing

@testable import Stores

/// What a change of a store's state leads to, as values: no store, no thread and no closure is needed to see it.
@Suite struct StoreStateTests {
  private struct World {
    var state = StoreState<String, String>(StoreConfiguration())
    private let now = StoreTime(microseconds: 0)

    /// What is to be done since this was asked last, in order.
    mutating func effects() -> [String] {
      exchange(&state.effects, with: []).map(describe)
    }

    private func describe(_ effect: StoreState<String, String>.Effect) -> String {
      switch effect {
      case .deliver(let watchers): "deliver to \(watchers.count)"
      case .answer(_, .success(let state)): "answer \(state.cached?.value ?? "-")"
      case .answer(_, .failure(let error)): "fail with \(error)"
      case .complete(_, let error): error.map { "complete with \($0)" } ?? "complete"
      case .answering(let effect): describe(effect)
      case .start(let key, _): "start \(key)"
      case .cancel: "cancel"
      case .refetchLater(let key, let pause): "request \(key) after \(pause)"
      case .sweepLater: "sweep later"
      case .finish, .share, .shareRemoval, .keepRefusal: "write"
      case .endOtherStores: "end other stores"
      }
    }

    mutating func read(_ key: String, _ policy: FetchPolicy) -> UInt64 {
      state.acquire(key, forReading: true)
      let waiter = Fetch<String, String>.Waiter(policy: policy) { _ in }
      return state.read(key, source: .memory, waiter: waiter, context: ReadContext(), now: now)
    }

    mutating func watch(_ key: String, _ policy: FetchPolicy) -> UInt64 {
      state.acquire(key, forReading: true)
      return state.watch(
        key, policy: policy, context: ReadContext(), source: .memory, observer: AnyObserver { _ in }, now: now)
    }

    mutating func respond(_ key: String, _ value: String) {
      guard let fetch = state.entries[key]?.fetches.first else { return }
      let response = CachedValue(value, writtenAt: now)
      _ = state.succeed(key, fetchID: fetch.id, response: response, pushed: 0, isCacheable: true, target: key)
    }
  }

  @Test func `a read of what is missing starts a request, and the last reader cancels it`() {
    var world = World()
    let first = world.read("k", .cacheFirst)
    #expect(world.effects() == ["start k"])
    let second = world.read("k", .cacheFirst)
    #expect(world.effects() == [])
    world.state.endRead("k", id: first)
    #expect(world.effects() == [])
    world.state.endRead("k", id: second)
    #expect(world.effects() == ["cancel"])
  }

  @Test func `watchers see that a request is in flight before it starts, and its response before readers get it`() {
    var world = World()
    _ = world.watch("k", .cacheOnly)
    #expect(world.effects() == ["deliver to 1"])
    _ = world.read("k", .networkOnly)
    #expect(world.effects() == ["deliver to 1", "start k"])
    world.respond("k", "v")
    #expect(world.effects() == ["sweep later", "deliver to 1", "complete"])
    _ = world.read("k", .cacheFirst)
    #expect(world.effects() == ["answer v"])
  }

  @Test func `a value that is invalidated is requested for those who watch it by the network`() {
    var world = World()
    _ = world.watch("k", .cacheFirst)
    world.respond("k", "v")
    _ = world.effects()
    world.state.invalidate("k")
    #expect(world.effects() == ["deliver to 1", "start k"])
  }

  @Test func `a sign-out cancels requests, fails readers, and ends watchers and other stores`() {
    var world = World()
    _ = world.watch("k", .cacheOnly)
    _ = world.read("l", .networkOnly)
    _ = world.effects()
    world.state.signOut { _ in }
    #expect(
      world.effects() == [
        "cancel", "fail with \(StoreError.signedOut)", "complete", "end other stores", "deliver to 1", "deliver to 1",
      ])
    _ = world.read("k", .networkOnly)
    #expect(world.effects() == ["fail with \(StoreError.signedOut)"])
  }
}
