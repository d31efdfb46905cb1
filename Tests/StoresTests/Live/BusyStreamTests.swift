import GraphQLClient
import Stores
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

/// A stream that pushes more often than a request takes.
@Suite struct BusyStreamTests {
  private let server = FakeServer<String, Int>()
  private let events = PublishSubject<LiveEvent<Int>>()
  private let time = TestScheduler()
  private let store: Store<String, Int>
  private let following: Recorder<LiveEvent<Int>>
  private let watcher: Recorder<Snapshot<Int>>

  init() {
    var configuration = StoreConfiguration<Int>()
    configuration.clock = .scheduler(time)
    store = Store(.ofPartial(server.fetch), configuration: configuration)
    watcher = Recorder(store.stream("k", .cacheAndNetwork))
    following = Recorder(
      store.follow("k", events.asObservable(), scheduler: time) { live, value in live > value ? live : nil })
  }

  private var open: [FakeServer<String, Int>.Request] { server.requests.value.filter { !$0.isCancelled.value } }

  @Test func `1,000 pushes in a second cost three requests at most, one at a time, and the last one is shown`() {
    var answered = 0
    for number in 1...1_000 {
      events.onNext(.value(number))
      time.advance(by: .milliseconds(1))
      #expect(server.count - answered <= 1)
      // A request takes 50 milliseconds, and its response is as old as it is.
      if number % 50 == 0, answered < server.count {
        server[answered].answer(number - 50)
        answered += 1
        #expect(store.peek("k")?.value == number)
      }
    }
    #expect(server.count <= 3)
    #expect(following.take().count == 1_000)
    // At rest, the server has the last word.
    time.advance(by: .seconds(60))
    for number in answered..<server.count { server[number].answer(1_000) }
    time.advance(by: .seconds(60))
    #expect(server.count <= 4)
    #expect(open.allSatisfy { $0.key == "k" })
    #expect(watcher.elements.value.last?.value == 1_000)
    #expect(store.peek("k")?.isStale == false)
  }

  @Test func `L8: what is pushed while a mutation is sent is not lost by its response`() {
    server[0].answer(1)
    let mutations = FakeServer<String, Int>()
    let change = Recorder(store.mutate(.of("k") { _ in 2 }) { mutations.fetch("k").map(\.value) })
    let read = Recorder(store.get("k", .networkOnly))
    events.onNext(.value(5))
    mutations[0].answer(2)
    server[1].answer(1)
    #expect(change.isCompleted.value)
    #expect(read.elements.value.map(\.value) == [5])
    #expect(store.peek("k")?.value != 1)
  }

  @Test func `the pauses between requests grow as long as pushes continue`() {
    var (begun, last) = ([Duration](), 0)
    for number in 1...2_000 {
      events.onNext(.value(number))
      time.advance(by: .milliseconds(20))
      if server.count > last {
        last = server.count
        begun.append(time.now)
      }
      if number % 3 == 0 { for request in server.requests.value.suffix(1) { request.answer(0) } }
    }
    // In 40 seconds: at 0, then after 1, 2, 4, 8 and 16.
    #expect((5...7).contains(begun.count))
  }
}
