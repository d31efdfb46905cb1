import Foundation
import Repository
import Streams
import TestSupport

struct Failure: Error, Hashable, CustomStringConvertible {
  var name = "failure"

  var description: String { name }
}

/// A server that a test answers for, request by request.
final class FakeServer<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  struct Request: Sendable {
    let key: Key
    let observer: AnyObserver<Fetched<Value>>
    let isCancelled: Mutable<Bool>

    func answer(_ value: Value, errors: [any Error] = []) {
      observer.onNext(Fetched(value, errors: errors))
      observer.onCompleted()
    }

    func fail(_ error: any Error = Failure()) { observer.onError(error) }
  }

  let requests = Mutable<[Request]>([])
  private let began = Monitor(0)

  /// Answers nothing by itself.
  func fetch(_ key: Key) -> Observable<Fetched<Value>> {
    .create { observer in
      let request = Request(key: key, observer: observer, isCancelled: Mutable(false))
      self.requests.update { $0.append(request) }
      self.began.update { $0 += 1 }
      return Disposables.create { request.isCancelled.update { $0 = true } }
    }
  }

  var count: Int { requests.value.count }

  /// Waits until there were this many requests.
  func wait(forCount count: Int) async throws { try await began.wait { $0 >= count } }

  subscript(index: Int) -> Request { requests.value[index] }
}

/// A value under a lock.
final class Mutable<Value: Sendable>: Sendable {
  private let stored: Locked<Value>

  init(_ value: Value) { stored = Locked(value) }

  var value: Value { stored.withLock { $0 } }

  @discardableResult
  func update<Result>(_ change: (inout Value) throws -> Result) rethrows -> Result {
    try stored.withLockUnchecked(change)
  }
}

/// A source of truth in memory.
final class MemoryTruth<Key: Hashable & Sendable, Value: Sendable>: SourceOfTruth {
  private let values = Mutable<[Key: StoredValue<Value>]>([:])

  func read(_ key: Key) -> StoredValue<Value>? { values.value[key] }
  func write(_ stored: StoredValue<Value>, for key: Key) { values.update { $0[key] = stored } }
  func remove(_ key: Key) { values.update { $0[key] = nil } }
  func removeAll() { values.update { $0 = [:] } }
  func keys() -> [Key] { Array(values.value.keys) }
}
