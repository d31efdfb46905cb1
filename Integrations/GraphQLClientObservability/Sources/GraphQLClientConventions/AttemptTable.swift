package import HTTPClientCore
import Synchronization

/// What is known of the attempts of one request that are running, by their numbers.
package final class AttemptTable<Value: Sendable>: Sendable {
  private let values = Mutex<[Int: Value]>([:])

  package init() {}

  package func begin(_ number: Int, _ value: Value) { values.withLock { $0[number] = value } }

  /// Removes an attempt.
  package func end(_ number: Int) -> Value? { values.withLock { $0.removeValue(forKey: number) } }

  /// Removes all.
  package func endAll() -> [Value] {
    values.withLock { values in
      defer { values = [:] }
      return Array(values.values)
    }
  }
}

extension HTTPRequest {
  /// Also calls this for each attempt, after what other observers have set.
  package mutating func addOnAttempt(_ add: @escaping @Sendable (_ number: Int, _ request: inout HTTPRequest) -> Void) {
    let earlier = onAttempt
    onAttempt = { number, request in
      earlier?(number, &request)
      add(number, &request)
    }
  }
}
