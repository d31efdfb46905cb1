import HTTPClientCore
import Synchronization

/// What the workers count.
final class Tally: RequestObserver {
  struct Counts: Sendable {
    var queries = 0
    var mutations = 0
    var failedQueries = 0
    var created: Set<String> = []
    var requests = 0
    var attempts = 0
    var retries = 0
    var challenges = 0
    var failures: [String: Int] = [:]
    var slowest = Duration.zero
  }

  private let counts = Mutex(Counts())

  var value: Counts { counts.withLock { $0 } }

  func update(_ change: (inout Counts) -> Void) {
    counts.withLock { change(&$0) }
  }

  func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    { [self] event in
      switch event {
      case .retrying: update { $0.retries += 1 }
      case .challenged: update { $0.challenges += 1 }
      case .ended(let summary):
        update { counts in
          counts.requests += 1
          counts.attempts += summary.attemptCount
          if case .failed(let error) = summary.outcome {
            let label = error.status.map { "\(error.kind) \($0)" } ?? "\(error.kind)"
            counts.failures[label, default: 0] += 1
          }
        }
      default: break
      }
    }
  }
}
