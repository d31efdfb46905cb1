public import HTTPClientCore
public import Streams
import SystemBase

/// Sends a slow query a second time, and takes the response that comes first. This reduces tail latency if there are
/// many servers.
///
/// Only requests that are `HTTPRequest.isReplayable` and have no idempotency key are hedged: reads, that is. The
/// second attempt needs a place in the retry budget, and is one of those that a ``RetryMiddleware`` outside this one
/// allows. There is none while the first one still waits for a slot or a token: then it is not the server that is slow.
/// The first head wins, unless it has a status that would be retried; the other attempt is then cancelled. If one
/// attempt fails, the other one is waited for; if both fail, the later failure is given. A response with such a status
/// and a body over 64 KiB is not held back, and wins like any other.
///
/// Place it inside a ``RetryMiddleware``. Calls back on the exchanges' threads; the scheduler times the delay. Copies
/// share their record of latencies, of at most 1,024 operations; those that were not used for longest are forgotten.
public struct HedgingMiddleware: HTTPMiddleware, SendingByNext {
  private struct Key: Hashable {
    let origin: HTTPOrigin
    let operationName: String?
  }

  private let delay: HedgingDelay
  private let budget: RetryBudget
  private let scheduler: any Scheduler
  private let latencies = RecentTable<Key, LatencyRecord> { LatencyRecord() }

  /// Takes the delay after which a request counts as slow, the budget for hedges (best that of the
  /// ``RetryMiddleware``), and the scheduler that times the delay.
  public init(
    after delay: HedgingDelay, budget: RetryBudget = RetryBudget(), scheduler: some Scheduler = ConcurrentScheduler()
  ) {
    self.delay = delay
    self.budget = budget
    self.scheduler = scheduler
  }

  /// Passes the request on, and a second time if it is slow.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    guard request.mayBeSentAgain(after: .maybe), request.idempotencyKey == nil else { return next(request) }
    return .create { observer in
      var request = request
      let isCounted = request.context.entry != nil
      let entry = request.entered()
      budget.count(request, entry)
      let race = Locked(HedgeRace())
      let attempts = [DisposeBag(), DisposeBag()]
      let start = scheduler.now
      let sendCount = entry.sendCount
      let send: @Sendable (HTTPRequest, Int) -> Void = { request, number in
        let attempt = next(request)
          .held {
            RequestError.isTransient(status: $0.status)
          } refusal: {
            $1 ? RefusedResponse($0) : nil
          }
          .subscribe(
            onNext: { part in
              let claim = race.withLock { $0.claim(number) }
              if claim == .won {
                attempts[1 - number].dispose()
                // The time since the first attempt began, even if the second one won: the first would have taken longer
                // still.
                record(scheduler.now - start, for: request)
              }
              if claim != .lost { observer.onNext(part) }
            },
            onError: { error in
              guard race.withLock({ $0.fail(number) }) else { return }
              guard let refused = error as? RefusedResponse else { return observer.onError(error) }
              for part in refused.response.parts { observer.onNext(part) }
              observer.onCompleted()
            },
            onCompleted: {
              if race.withLock({ $0.claim(number) }) != .lost { observer.onCompleted() }
            })
        attempts[number].insert(attempt)
      }
      let origin = request.origin
      let timer = wait(for: request).map { [request] wait in
        scheduler.schedule(after: wait) {
          guard race.withLock({ $0.isOpen }), !isCounted || entry.sendCount > sendCount, entry.mayBeRepeated,
            budget.withdraw(for: origin, at: scheduler.now), race.withLock({ $0.hedge() })
          else { return }
          var request = request
          request.timeouts = request.timeouts.after(wait)
          request.context.observation?.report(.hedging)
          send(request, 1)
        }
      }
      send(request, 0)
      return Disposables.create(attempts + [timer].compactMap { $0 })
    }
  }

  /// How long to wait before the second attempt; `nil` to make none.
  private func wait(for request: HTTPRequest) -> Duration? {
    switch delay.rule {
    case .fixed(let delay): return delay
    case .percentile(let percent, let least):
      let key = Key(origin: request.origin, operationName: request.operationName)
      return latencies.withValue(of: key) { $0 }.percentile(percent).map { max($0, least) }
    }
  }

  private func record(_ latency: Duration, for request: HTTPRequest) {
    guard case .percentile = delay.rule else { return }
    let key = Key(origin: request.origin, operationName: request.operationName)
    latencies.withValue(of: key) { $0.add(latency) }
  }
}

/// The delay after which a request counts as slow.
public struct HedgingDelay: Hashable, Sendable {
  enum Rule: Hashable, Sendable {
    case fixed(Duration)
    case percentile(Double, atLeast: Duration)
  }

  let rule: Rule

  /// A constant delay.
  public static func fixed(_ delay: Duration) -> HedgingDelay { HedgingDelay(rule: .fixed(delay)) }

  /// The time within which this percentage of the operation's recent requests had the head of their response: with 95,
  /// one request in twenty is hedged. The delay is never shorter than `atLeast`. The last 256 requests of each
  /// operation count; before there are 20, nothing is hedged. NaN counts as 100.
  public static func percentile(_ percent: Double, atLeast: Duration = .milliseconds(1)) -> HedgingDelay {
    let percent = percent.isNaN ? 100 : min(max(percent, 0), 100)
    return HedgingDelay(rule: .percentile(percent, atLeast: atLeast))
  }
}

/// Decides which of two attempts at one request provides the response: pure, without locks.
struct HedgeRace: Sendable {
  enum Claim: Hashable, Sendable {
    /// It has just won; the other attempt is to be cancelled.
    case won
    /// It had already won.
    case goesOn
    case lost
  }

  private var running: Set<Int> = [0]
  private var winner: Int?

  /// Whether a second attempt would be of use.
  var isOpen: Bool { winner == nil && running == [0] }

  /// Begins the second attempt if it is of use; returns whether it did.
  mutating func hedge() -> Bool {
    guard isOpen else { return false }
    running.insert(1)
    return true
  }

  /// Records that an attempt has received part of a response.
  mutating func claim(_ attempt: Int) -> Claim {
    switch winner {
    case nil:
      winner = attempt
      return .won
    case attempt: return .goesOn
    default: return .lost
    }
  }

  /// Records that an attempt has failed; returns whether the request has failed with it.
  mutating func fail(_ attempt: Int) -> Bool {
    running.remove(attempt)
    return winner == attempt || (winner == nil && running.isEmpty)
  }
}

/// How long the last requests of an operation took.
struct LatencyRecord: Sendable {
  static let capacity = 256
  static let least = 20

  private var latencies: [Duration] = []
  private var next = 0

  mutating func add(_ latency: Duration) {
    if latencies.count < Self.capacity {
      latencies.append(latency)
    } else {
      latencies[next] = latency
      next = (next + 1) % Self.capacity
    }
  }

  /// The shortest recorded time that is at least as long as this percentage of the recorded times (nearest rank).
  func percentile(_ percent: Double) -> Duration? {
    guard latencies.count >= Self.least else { return nil }
    let rank = Int((percent / 100 * Double(latencies.count)).rounded(.up))
    return latencies.sorted()[min(max(rank, 1), latencies.count) - 1]
  }
}
