import Foundation
import HTTPClientCore
import Synchronization

/// What the process counts and measures; written to its output twice a second, as a line of JSON.
final class Tally: RequestObserver {
  private struct Counts {
    var operations: [String: Int] = [:]
    var failures: [String: Int] = [:]
    /// In microseconds.
    var reads: [Int] = []
    var writes: [Int] = []
    var requests: [Int] = []
    var attempts = 0
  }

  private struct Running {
    let what: String
    let began: ContinuousClock.Instant
  }

  private let counts = Mutex(Counts())
  private let running = Mutex<(last: Int, table: [Int: Running])>((0, [:]))
  /// How late a deadline may come: eight processes share some processors with all that they talk to.
  private static let tolerance = Duration.milliseconds(750)

  func count(_ failure: String) { counts.withLock { $0.failures[failure, default: 0] += 1 } }

  /// Whether a value is of the account that it is shown to.
  func check(_ note: Note, of account: String) {
    if note.account != account { say(["violation": "\(account) was shown \(note)"]) }
  }

  /// Carries out an operation, and sees to it that it ends in time.
  func measure<Result>(_ what: String, isWrite: Bool, _ body: () async throws -> Result) async -> Result? {
    let began = ContinuousClock.now
    let number = running.withLock { running in
      running.last += 1
      running.table[running.last] = Running(what: what, began: began)
      return running.last
    }
    var result: Result?
    var failure: String?
    do { result = try await body() } catch { failure = Self.label(error) }
    running.withLock { _ = $0.table.removeValue(forKey: number) }
    let took = ContinuousClock.now - began
    counts.withLock { counts in
      counts.operations[what, default: 0] += 1
      if let failure { counts.failures["\(what): \(failure)", default: 0] += 1 }
      let microseconds = Int(took / .microseconds(1))
      if isWrite { counts.writes.append(microseconds) } else { counts.reads.append(microseconds) }
    }
    if took > Settings.limit + Self.tolerance { say(["violation": "\(what) took \(took)"]) }
    return result
  }

  private static func label(_ error: any Error) -> String {
    guard let error = error as? RequestError else { return String("\(error)".prefix(80)) }
    return error.status.map { "\(error.kind) \($0)" } ?? "\(error.kind)"
  }

  func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    let name = request.operationName ?? "request"
    return { [self] event in
      guard case .ended(let summary) = event else { return }
      counts.withLock { counts in
        counts.attempts += summary.attemptCount
        counts.requests.append(Int(summary.duration / .microseconds(1)))
        if case .failed(let error) = summary.outcome {
          counts.failures["request: \(Self.label(error))", default: 0] += 1
        }
      }
      if summary.duration > Settings.deadline + Self.tolerance {
        say(["violation": "the request \(name) took \(summary.duration)"])
      }
    }
  }

  /// Writes what has been counted since the last time.
  func report() {
    let counts = counts.withLock { counts in
      defer { counts = Counts() }
      return counts
    }
    let oldest = running.withLock { running in running.table.values.min { $0.began < $1.began } }
    if let oldest, ContinuousClock.now - oldest.began > Settings.limit + Self.tolerance {
      say(["violation": "\(oldest.what) hangs"])
    }
    say([
      "operations": counts.operations, "failures": counts.failures, "reads": counts.reads, "writes": counts.writes,
      "requests": counts.requests, "attempts": counts.attempts, "accounts": Account.count.load(ordering: .relaxed),
    ])
  }
}

private let output = Mutex(())

/// Writes a line of JSON, with the time in seconds.
func say(_ members: [String: any Sendable]) {
  var members: [String: Any] = members
  members["time"] = Date().timeIntervalSince1970
  guard var line = try? JSONSerialization.data(withJSONObject: members) else { return }
  line.append(10)
  // Whole lines, since several threads write.
  output.withLock { _ in FileHandle.standardOutput.write(line) }
}
