import Foundation
import GraphQLClient
import HTTPClientCore
import HTTPMiddlewares
import Streams
import StrictJSON
import SystemBase
import TestSupport
import Testing

/// Subscribers, servers, tokens and timers that do anything at any time, in virtual time.
@Suite(.timeLimit(.minutes(5))) struct LiveRandomTests {
  /// What one subscriber may see.
  private final class Subscriber: Sendable {
    struct State {
      var subscription: (any Disposable)?
      var isDisposed = false
      var isOpen = false
      var wasConnected = false
      var lastValue = -1
      /// How many values it got, and how many it was told that it did not get.
      var accounted = 0
      var error: RequestError?
      var isCompleted = false
      var isOver: Bool { isDisposed || error != nil || isCompleted }
    }

    /// Is freed with the observer.
    final class Observer: Sendable {}

    let number: Int
    let account: String?
    let state = Locked(State())
    let observer = Locked<WeakObserver?>(nil)

    struct WeakObserver: Sendable {
      weak let value: Observer?
    }

    init(_ number: Int, account: String?) {
      self.number = number
      self.account = account
    }

    func dispose() {
      let subscription = state.withLock { state in
        state.isDisposed = true
        return state.subscription.take()
      }
      subscription?.dispose()
    }
  }

  /// `@unchecked Sendable`: all that happens in virtual time happens on the test's thread.
  private final class World: @unchecked Sendable {
    var random: SplitMix
    let provider: InMemoryTokenProvider
    let harness: SocketHarness
    let problems = Locked<[String]>([])
    var subscribers: [Subscriber] = []
    var account: String? = "a0"
    var lastAccount = 0
    var lastValue = 0
    /// The values that were sent on connections that the client has given up.
    var stale: Set<Int> = []
    /// Whose operation each value was sent for.
    var sent: [Int: Int] = [:]
    var shutdown: (() -> Bool)?

    init(seed: UInt64, legacy: Bool) throws {
      random = SplitMix(seed: seed)
      let refreshed = Locked(0)
      provider = InMemoryTokenProvider(AccessToken("t0", account: "a0")) { old in
        let number = refreshed.withLock { number in
          number += 1
          return number
        }
        if number % 4 == 0 { return .error(RequestError(.httpStatus, "No.", status: 401)) }
        return .just(AccessToken("t0-\(number)", account: old?.account))
      }
      let jitter = Locked(SplitMix(seed: seed &+ 1))
      harness = try SocketHarness(legacy: legacy, attempts: 6, tokens: provider) {
        jitter.withLock { Double.random(in: 0...1, using: &$0) }
      }
    }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    func subscribe() {
      let subscriber = Subscriber(subscribers.count, account: account)
      subscribers.append(subscriber)
      var countdown = Countdown(subscriber.number)
      let size = Int.random(in: 1...4, using: &random)
      countdown.buffering =
        [.dropOldest(values: size), .latest, .fail(values: size), .dropOldest()][
          Int.random(in: 0..<4, using: &random)]
      // Some do something from within a callback.
      let (reaction, moment) = (Int.random(in: 0..<8, using: &random), Int.random(in: 1...4, using: &random))
      let observer = Subscriber.Observer()
      subscriber.observer.withLock { $0 = .init(value: observer) }
      let count = Locked(0)
      let subscription = countdown.subscribe(on: harness.client).subscribe(
        onNext: { [unowned self] event in
          see(event, subscriber)
          let isTime = count.withLock { count in
            count += 1
            return count == moment
          }
          if isTime { react(reaction, subscriber) }
          withExtendedLifetime(observer) {}
        },
        onError: { [unowned self] error in
          let error = RequestError(wrapping: error)
          let wasOver = subscriber.state.withLock { state in
            defer { state.error = error }
            return state.isOver
          }
          if wasOver { report(subscriber, "ended twice, or after disposal, with \(error)") }
          withExtendedLifetime(observer) {}
        },
        onCompleted: { [unowned self] in
          let wasOver = subscriber.state.withLock { state in
            defer { state.isCompleted = true }
            return state.isOver
          }
          if wasOver { report(subscriber, "completed after its end") }
          if hasSignedOut(subscriber) { report(subscriber, "completed instead of being cancelled") }
        })
      let isOver = subscriber.state.withLock { state in
        if !state.isDisposed { state.subscription = subscription }
        return state.isDisposed
      }
      if isOver { subscription.dispose() }
    }

    private func react(_ reaction: Int, _ subscriber: Subscriber) {
      switch reaction {
      case 0: subscriber.dispose()
      case 1: for other in subscribers { other.dispose() }
      case 2: subscribe()
      case 3: signOut()
      case 4: signIn()
      default: break
      }
    }

    /// Who subscribes without an account keeps the subscription when somebody signs in.
    private func hasSignedOut(_ subscriber: Subscriber) -> Bool {
      subscriber.account != nil && subscriber.account != account
    }

    private func report(_ subscriber: Subscriber, _ problem: String) {
      problems.withLock { $0.append("subscriber \(subscriber.number) \(problem)") }
    }

    private func see(_ event: LiveEvent<GraphQLResponse<Countdown.ResponseData>>, _ subscriber: Subscriber) {
      if hasSignedOut(subscriber) { report(subscriber, "got \(event) after its account had signed out") }
      let value = event.value?.data.countdown
      let problem = subscriber.state.withLock { state -> String? in
        if state.isOver { return "got \(event) after its end" }
        switch event {
        case .connected:
          defer { (state.isOpen, state.wasConnected) = (true, true) }
          return state.wasConnected ? "was connected for the first time twice" : nil
        case .reconnected, .resumed: state.isOpen = true
        case .disconnected: state.isOpen = false
        case .dropped(let count): state.accounted += count
        case .failed: return "got an event that failed"
        case .value:
          let value = value ?? -1
          defer { (state.lastValue, state.accounted) = (value, state.accounted + 1) }
          if !state.isOpen { return "got a value before the gap was reported" }
          if value <= state.lastValue { return "got \(value) after \(state.lastValue)" }
        }
        return nil
      }
      if let problem { report(subscriber, problem) }
      if let value, stale.contains(value) { report(subscriber, "got \(value) of an old connection") }
      if let value, sent[value] != subscriber.number { report(subscriber, "got another one's value \(value)") }
    }

    func signOut() {
      account = nil
      provider.setToken(nil)
    }

    func signIn() {
      lastAccount += 1
      account = "a\(lastAccount)"
      provider.setToken(AccessToken("t\(lastAccount)", account: account))
    }

    /// The server does something on a connection.
    func serve() {
      let attempts = harness.sockets.attempts
      guard let last = attempts.last else { return }
      let attempt = chance(85) ? last : attempts[Int.random(in: attempts.indices, using: &random)]
      let messages = attempt.messages
      let subscribed = messages.filter { $0["type"] == "subscribe" || $0["type"] == "start" }
      let operation = subscribed.isEmpty ? nil : subscribed[Int.random(in: subscribed.indices, using: &random)]
      let id = operation?["id"]?.stringValue ?? "7"
      switch Int.random(in: 0..<40, using: &random) {
      case 0..<8: attempt.acknowledge()
      case 8..<14: attempt.pong()
      case 14..<30:
        for _ in 0..<Int.random(in: 1...5, using: &random) {
          lastValue += 1
          sent[lastValue] = operation?["payload"]?["variables"]?["start"]?.integerValue.map(Int.init) ?? -1
          if attempt.isDisposed { stale.insert(lastValue) }
          attempt.next(id, lastValue)
        }
      case 30: attempt.complete(id)
      case 31: attempt.send(#"{"id":"\#(id)","type":"error","payload":[{"message":"no"}]}"#)
      case 32:
        attempt.send(
          #"{"id":"\#(id)","type":"error","payload":[{"message":"no","extensions":{"code":"UNAUTHENTICATED"}}]}"#)
      case 33:
        let errors = #"[{"message":"no","extensions":{"code":"SUBSCRIPTION_MAX_LIMIT"}}]"#
        let (type, payload) = chance(50) ? ("error", errors) : ("next", #"{"data":null,"errors":\#(errors)}"#)
        attempt.send(#"{"id":"\#(id)","type":"\#(type)","payload":\#(payload)}"#)
      case 34: attempt.send(#"{"type":"ping"}"#)
      case 35: attempt.close([1000, 1001, 1006, 1011, 1012, 4401, 4403, 4400][Int.random(in: 0..<8, using: &random)])
      case 36: attempt.fail(RequestError(.connectionLost, "Cut."))
      case 37: attempt.refuse(status: [401, 403, 503][Int.random(in: 0..<3, using: &random)])
      case 38: attempt.strayPong()
      default: if chance(10) { attempt.send("{") }
      }
    }

    func step() {
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<12: subscribe()
      case 12..<17: if let one = subscribers.randomElement(using: &random) { one.dispose() }
      case 17..<20: signOut()
      case 20..<24: signIn()
      case 24..<70: serve()
      case 70..<97: harness.advance(Double.random(in: 0...1, using: &random) * (chance(10) ? 60 : 1))
      case 97: if chance(10), shutdown == nil { shutdown = harness.sockets.shutDown() }
      default: harness.settle()
      }
      if chance(70) { harness.settle() }
    }

    /// All that is left is disposed, or its account signs out.
    func end() -> [String] {
      if chance(50) { signOut() } else { for one in subscribers { one.dispose() } }
      harness.advance(700)
      var problems = problems.withLock { $0 }
      for one in subscribers where !one.state.withLock({ $0.isOver }) && one.account != nil {
        problems.append("subscriber \(one.number) has no end")
      }
      for one in subscribers { one.dispose() }
      harness.advance(700)
      for (index, attempt) in harness.sockets.attempts.enumerated() where !attempt.isDisposed {
        problems.append("connection \(index) is left")
      }
      let alive = subscribers.count { $0.observer.withLock { $0?.value } != nil }
      if alive > 0 { problems.append("\(alive) observers are left") }
      if let shutdown, !shutdown() { problems.append("the shutdown has not ended") }
      return problems
    }
  }

  @Test(arguments: [false, true])
  func
    `L1, L2, L5: whatever all sides do, nobody gets anything twice, late, of another, or without its gap, and nothing is left`(
      legacy: Bool
    ) throws
  {
    var delivered = 0
    for seed in 0..<TestScale.count(200, long: 5_000) {
      let world = try World(seed: UInt64(seed), legacy: legacy)
      for _ in 0..<120 { world.step() }
      let problems = world.end()
      #expect(problems.isEmpty, "seed \(seed)")
      delivered += world.subscribers.reduce(0) { $0 + $1.state.withLock { $0.accounted } }
      if !problems.isEmpty { return }
    }
    #expect(delivered > 1000)
  }
}
