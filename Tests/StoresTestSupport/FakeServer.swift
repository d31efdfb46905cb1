package import Stores
package import Streams
import SystemBase
import TestSupport

package struct Failure: Error, Hashable, CustomStringConvertible {
  package var name = "failure"

  package init(name: String = "failure") { self.name = name }

  package var description: String { name }
}

/// A server that a test answers for, request by request.
package final class FakeServer<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  package struct Request: Sendable {
    package let key: Key
    package let observer: AnyObserver<Fetched<Value>>
    package let isCancelled: Mutable<Bool>

    package func answer(_ value: Value, errors: [any Error] = []) {
      observer.onNext(Fetched(value, errors: errors))
      observer.onCompleted()
    }

    package func fail(_ error: any Error = Failure()) { observer.onError(error) }
  }

  package let requests = Mutable<[Request]>([])
  private let began = Monitor(0)

  package init() {}

  /// Answers nothing by itself.
  package func fetch(_ key: Key) -> Observable<Fetched<Value>> {
    .create { observer in
      let request = Request(key: key, observer: observer, isCancelled: Mutable(false))
      self.requests.update { $0.append(request) }
      self.began.update { $0 += 1 }
      return Disposables.create { request.isCancelled.update { $0 = true } }
    }
  }

  package var count: Int { requests.value.count }

  /// Waits until there were this many requests.
  package func wait(forCount count: Int) async throws { try await began.wait { $0 >= count } }

  package subscript(index: Int) -> Request { requests.value[index] }
}

/// A value under a lock.
package final class Mutable<Value: Sendable>: Sendable {
  private let stored: Locked<Value>

  package init(_ value: Value) { stored = Locked(value) }

  package var value: Value { stored.withLock { $0 } }

  @discardableResult
  package func update<Result>(_ change: (inout Value) throws -> Result) rethrows -> Result {
    try stored.withLockUnchecked(change)
  }
}

/// A source of truth in memory.
package final class MemoryTruth<Key: Hashable & Sendable, Value: Sendable>: SourceOfTruth {
  private let values = Mutable<[Key: StoredValue<Value>]>([:])

  package init() {}

  package func read(_ key: Key) -> StoredValue<Value>? { values.value[key] }
  package func write(_ stored: StoredValue<Value>, for key: Key) { values.update { $0[key] = stored } }
  package func remove(_ key: Key) { values.update { $0[key] = nil } }
  package func removeAll() { values.update { $0 = [:] } }
  package func keys() -> [Key] { Array(values.value.keys) }
}
