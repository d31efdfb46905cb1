import GraphQLClientTesting
import HTTPClientCore
import HTTPMiddlewares
import HTTPTestSupport
import Streams
import StreamsTesting
import SystemBase
import TestSupport
import Testing

@Suite("The limit of concurrent requests")
struct ConcurrencyLimitMiddlewareTests {
  private func harness(_ limit: Int, queueLimit: Int = 1000) -> MiddlewareHarness {
    MiddlewareHarness { [ConcurrencyLimitMiddleware(limit, queueLimit: queueLimit, scheduler: $0)] }
  }

  private func start(_ names: some Sequence<Int>, _ harness: MiddlewareHarness) throws -> [Outcome] {
    try names.map { try harness.start(MiddlewareHarness.request("\($0)")) }
  }

  private func sent(_ harness: MiddlewareHarness) -> [Int] {
    harness.transport.requests.compactMap { $0.operationName.flatMap { Int($0) } }
  }

  @Test func `requests above the limit wait, and are sent in the order in which they came`() throws {
    let harness = harness(3)
    harness.transport.always(.response().after(.seconds(1)))
    let outcomes = try start(0..<10, harness)
    #expect(sent(harness) == [0, 1, 2])
    harness.scheduler.advance(by: .seconds(1))
    #expect(sent(harness) == [0, 1, 2, 3, 4, 5])
    harness.scheduler.run()
    #expect(sent(harness) == Array(0..<10))
    #expect(outcomes.allSatisfy { $0.status == 200 })
    #expect(harness.scheduler.now == .seconds(4))
  }

  @Test func `a request fails at once where the queue is full`() throws {
    let harness = harness(1, queueLimit: 2)
    harness.transport.always(.response().after(.seconds(1)))
    let outcomes = try start(0..<4, harness)
    #expect(outcomes[3].error?.kind == .overloaded)
    #expect(outcomes[3].error?.operationName == "3")
    harness.scheduler.run()
    #expect(outcomes.prefix(3).allSatisfy { $0.status == 200 })
    #expect(try start([5], harness).count == 1)
    harness.scheduler.run()
    #expect(sent(harness) == [0, 1, 2, 5])
  }

  @Test func `each origin has its own`() throws {
    let harness = harness(1)
    harness.transport.always(.never)
    _ = try start(0..<2, harness)
    _ = try harness.start(MiddlewareHarness.request("7", to: "http://127.0.0.1:2/"))
    #expect(sent(harness) == [0, 7])
  }

  @Test func `a request that leaves the queue is not sent, and one that is cancelled frees its slot`() throws {
    let harness = harness(1)
    harness.transport.always(.never)
    let outcomes = try start(0..<4, harness)
    outcomes[1].dispose()
    outcomes[0].dispose()
    harness.scheduler.run()
    #expect(sent(harness) == [0, 2])
    // One that has its place, but was not begun yet, hands it on.
    outcomes[2].dispose()
    outcomes[3].dispose()
    harness.scheduler.run()
    _ = try start([9], harness)
    #expect(sent(harness) == [0, 2, 9])
  }

  @Test func `an error makes place, too`() throws {
    let harness = harness(1)
    harness.transport.always(.failure(RequestError(.cannotConnect, "…")).after(.seconds(1)))
    let outcomes = try start(0..<3, harness)
    harness.scheduler.run()
    #expect(outcomes.allSatisfy { $0.error?.kind == .cannotConnect })
  }

  @Test func `time in the line is taken off the deadline`() throws {
    let harness = harness(1)
    harness.transport.always(.response().after(.seconds(2)))
    for _ in 0..<2 { _ = try harness.start(MiddlewareHarness.request(timeouts: HTTPTimeouts(total: .seconds(10)))) }
    harness.scheduler.run()
    #expect(harness.transport.requests.map(\.timeouts.total) == [.seconds(10), .seconds(8)])
  }

  @Test func `T6: a request in the queue fails at its deadline where its turn does not come`() throws {
    let harness = harness(1)
    harness.transport.always(.never)
    let first = try start([0], harness)
    let timeouts = HTTPTimeouts(total: .seconds(2))
    let waiting = try harness.start(MiddlewareHarness.request("1", timeouts: timeouts))
    harness.scheduler.advance(by: .milliseconds(1999))
    #expect(waiting.result == nil)
    harness.scheduler.advance(by: .milliseconds(1))
    #expect(waiting.error?.kind == .timedOut)
    #expect(waiting.error?.operationName == "1")
    first[0].dispose()
    harness.scheduler.run()
    #expect(sent(harness) == [0])
  }

  @Test func `a request that leaves the queue leaves no timer behind`() throws {
    let harness = harness(1)
    harness.transport.always(.response().after(.seconds(1)))
    let outcomes = try start(0..<2, harness)
    harness.scheduler.advance(by: .seconds(2))
    #expect(outcomes.allSatisfy { $0.status == 200 })
    #expect(harness.scheduler.pendingCount == 0)
  }

  @Test func `a line of 10,000 that end at once takes no stack`() throws {
    let harness = harness(1, queueLimit: 20_000)
    harness.transport.expect(.any, .response().after(.seconds(1)))
    harness.transport.always(.response())
    let outcomes = try start(0..<10_000, harness)
    harness.scheduler.run()
    #expect(outcomes.allSatisfy { $0.status == 200 })
  }

  @Test func `slots are not lost and the limit holds under 8 threads`() async throws {
    let limit = ConcurrencyLimitMiddleware(4, queueLimit: 100_000)
    let counts = Monitor((now: 0, most: 0))
    let next: @Sendable (HTTPRequest) -> Observable<HTTPResponsePart> = { _ in
      .create { observer in
        counts.update { counts in
          counts.now += 1
          counts.most = max(counts.most, counts.now)
        }
        let isOver = Locked(false)
        let end = { @Sendable in
          let wasOver = isOver.withLock { isOver in
            defer { isOver = true }
            return isOver
          }
          if !wasOver { counts.update { $0.now -= 1 } }
        }
        // It is over with its end: its teardown comes after the place was given back.
        let job = ConcurrentScheduler().schedule {
          end()
          observer.onCompleted()
        }
        return Disposables.create {
          job.dispose()
          end()
        }
      }
    }
    let request = try MiddlewareHarness.request()
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<8 {
        group.addTask {
          for turn in 0..<500 {
            let exchange = limit.intercept(request, next: next)
            if (thread + turn) % 3 == 0 {
              exchange.subscribe().dispose()
            } else {
              _ = try? await exchange.value
            }
          }
        }
      }
    }
    #expect(counts.value.now == 0)
    #expect((1...4).contains(counts.value.most))
    _ = try? await limit.intercept(request, next: next).value
  }
}
