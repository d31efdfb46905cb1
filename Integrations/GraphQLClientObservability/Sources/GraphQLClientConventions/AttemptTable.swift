package import HTTPClientCore
import Synchronization

/// What is known of the attempts of one request that are running, by their numbers.
package final class AttemptTable<Value: Sendable>: Sendable {
  /// `nil` once the request has ended.
  private let values = Mutex<[Int: Value]?>([:])

  package init() {}

  /// Adds an attempt; returns `false` if its request has ended, as one that is cancelled while the attempt begins: then
  /// nobody reports its end.
  @discardableResult
  package func begin(_ number: Int, _ value: Value) -> Bool {
    values.withLock { values in
      values?[number] = value
      return values != nil
    }
  }

  /// Removes an attempt.
  package func end(_ number: Int) -> Value? { values.withLock { $0?.removeValue(forKey: number) } }

  /// Removes all, at the end of the request.
  package func endAll() -> [Value] {
    values.withLock { values in
      defer { values = nil }
      return values.map { Array($0.values) } ?? []
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
