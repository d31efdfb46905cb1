import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import Testing

@testable import Stores

@Suite("values that are requested again and again, on a virtual clock")
struct PollingTests {
  let server = FakeServer<String, Int>()
  let time = TestScheduler()
  let store: Store<String, Int>

  init() {
    var configuration = StoreConfiguration<Int>()
    configuration.clock = .scheduler(time)
    store = Store(.ofPartial(server.fetch), configuration: configuration)
  }

  private func stream(jitter: Double = 0) -> Recorder<Snapshot<Int>> {
    Recorder(store.stream("a", every: .seconds(10), jitter: jitter))
  }

  @Test func `a value is requested again when it is as old as the interval`() {
    let stream = stream()
    server[0].answer(1)
    time.advance(by: .seconds(9))
    #expect(server.count == 1)
    time.advance(by: .seconds(1))
    #expect(server.count == 2)
    time.advance(by: .seconds(3))
    server[1].answer(2)
    #expect(stream.brief() == ["- …", "1 network", "1 memory …", "2 network"])
    time.advance(by: .seconds(9))
    #expect(server.count == 2)
    time.advance(by: .seconds(1))
    #expect(server.count == 3)
  }

  @Test func `a value that others have brought counts, and so the requests of several are one`() {
    store.save(0, for: "a")
    time.advance(by: .seconds(4))
    let streams = [stream(), stream()]
    time.advance(by: .seconds(5))
    #expect(server.count == 0)
    store.save(1, for: "a")
    time.advance(by: .seconds(9))
    #expect(server.count == 0)
    time.advance(by: .seconds(1))
    #expect(server.count == 1)
    server[0].answer(2)
    time.advance(by: .seconds(10))
    #expect(server.count == 2)
    withExtendedLifetime(streams) {}
  }

  @Test func `after failures in a row the pause doubles, and a response ends that`() {
    let stream = stream()
    server[0].answer(1)
    for pause in [10, 20, 40, 80, 160, 300, 300] {
      let count = server.count
      time.advance(by: .seconds(pause - 1))
      #expect(server.count == count)
      time.advance(by: .seconds(1))
      #expect(server.count == count + 1)
      server[count].fail()
    }
    #expect(stream.take().last?.errors.count == 1)
    time.advance(by: .seconds(300))
    server[8].answer(2)
    time.advance(by: .seconds(10))
    #expect(server.count == 10)
  }

  @Test(arguments: [0, 50, 159])
  func `a value that others bring ends the pause after failures in a row`(seconds: Int) {
    let stream = stream()
    server[0].answer(1)
    for pause in [10, 20, 40, 80] {
      time.advance(by: .seconds(pause))
      server[server.count - 1].fail()
    }
    let count = server.count
    time.advance(by: .seconds(seconds))
    store.save(2, for: "a")
    time.advance(by: .seconds(9))
    #expect(server.count == count)
    time.advance(by: .seconds(1))
    #expect(server.count == count + 1)
    withExtendedLifetime(stream) {}
  }

  @Test func `the server's pause is kept if it is longer`() {
    let stream = stream()
    server[0].answer(1)
    time.advance(by: .seconds(10))
    var error = RequestError(.rateLimited, "slower")
    error.retryAfter = .seconds(60)
    server[1].fail(error)
    time.advance(by: .seconds(59))
    #expect(server.count == 2)
    time.advance(by: .seconds(1))
    #expect(server.count == 3)
    withExtendedLifetime(stream) {}
  }

  @Test func `the server's pause is an hour at most`() {
    let stream = stream()
    server[0].answer(1)
    time.advance(by: .seconds(10))
    var error = RequestError(.rateLimited, "slower")
    error.retryAfter = .seconds(9_999_999_999)
    server[1].fail(error)
    time.advance(by: .seconds(3_610))
    #expect(server.count == 3)
    withExtendedLifetime(stream) {}
  }

  @Test func `the pause after a failure ends with a response to somebody else`() {
    let refused = Recorder(store.get("a", .networkOnly))
    var error = RequestError(.rateLimited, "slower")
    error.retryAfter = .seconds(3_000)
    server[0].fail(error)
    let stream = stream()
    let refreshed = Recorder(store.get("a", .networkOnly))
    let count = server.count
    server[count - 1].answer(1)
    time.advance(by: .seconds(20))
    #expect(server.count == count + 1)
    withExtendedLifetime((refused, stream, refreshed)) {}
  }

  @Test func `the first request of a poll may be refused for long, too`() {
    let stream = stream()
    var error = RequestError(.rateLimited, "slower")
    error.retryAfter = .seconds(3_000)
    server[0].fail(error)
    time.advance(by: .seconds(2_990))
    #expect(server.count == 1)
    time.advance(by: .seconds(20))
    #expect(server.count == 2)
    withExtendedLifetime(stream) {}
  }

  @Test func `the pause after a failure is kept also by who comes during it`() {
    let stream = stream()
    server[0].answer(1)
    time.advance(by: .seconds(10))
    var error = RequestError(.rateLimited, "slower")
    error.retryAfter = .seconds(60)
    server[1].fail(error)
    time.advance(by: .seconds(2))
    let later = self.stream()
    time.advance(by: .seconds(57))
    #expect(server.count == 2)
    time.advance(by: .seconds(1))
    #expect(server.count == 3)
    withExtendedLifetime((stream, later)) {}
  }

  @Test func `nothing is requested while nobody watches`() {
    let stream = stream()
    server[0].answer(1)
    time.advance(by: .seconds(10))
    stream.dispose()
    #expect(server[1].isCancelled.value)
    time.advance(by: .seconds(1_000))
    #expect(server.count == 2)
    let again = self.stream()
    time.advance(by: .seconds(10))
    #expect(server.count == 3)
    withExtendedLifetime(again) {}
  }

  @Test func `a part of the pause is random, and it is never without end`() {
    let stream = stream(jitter: 1)
    server[0].answer(1)
    time.advance(by: .seconds(10))
    #expect(server.count == 2)
    #expect(Recorder(store.stream("b", every: .zero, jitter: 0)).brief() == ["- …"])
    withExtendedLifetime(stream) {}
  }

  @Test func `a response that is only a part makes the value no younger, and is followed by a whole pause`() {
    struct Failure: Error {}
    let stream = stream()
    server[0].answer(1)
    for count in 2...4 {
      time.advance(by: .seconds(9))
      #expect(server.count == count - 1)
      time.advance(by: .seconds(1))
      #expect(server.count == count)
      server[count - 1].answer(2, errors: [Failure()])
    }
    withExtendedLifetime(stream) {}
  }

  @Test func `a clock that was set back does not stop it`() {
    let now = Mutable(StoreTime(microseconds: 1_000_000_000))
    var configuration = StoreConfiguration<Int>()
    configuration.clock = StoreClock(scheduler: time) { now.value }
    let store = Store(.ofPartial(server.fetch), configuration: configuration)
    let stream = Recorder(store.stream("a", every: .seconds(10), jitter: 0))
    server[0].answer(1)
    now.update { $0 = StoreTime(microseconds: 0) }
    time.advance(by: .seconds(10))
    #expect(server.count == 2)
    withExtendedLifetime(stream) {}
  }

  @Test func `the end of the store ends it`() async throws {
    let stream = stream()
    server[0].answer(1)
    try await store.signOut()
    #expect(stream.isCompleted.value)
    time.advance(by: .seconds(100))
    #expect(server.count == 1)
  }
}
