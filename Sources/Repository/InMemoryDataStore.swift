import Foundation
public import Streams

/// Keeps values for as long as the process, or this object, lives.
public final class InMemoryDataStore<Key: Hashable & Sendable, Value: Sendable>: DataStoreType {
  private let subjects = Subjects<Key, Value>()

  /// Makes an empty store.
  public init() {}

  /// The live stream of a key. It calls back on the thread that saves, and on the subscriber's for the first value.
  public func values(for key: Key) -> Observable<Value> {
    Observable.deferred { [subjects] in subjects[key].asObservable() }
  }

  /// Keeps a value and tells who watches.
  public func save(_ value: Value, for key: Key) {
    subjects[key].onNext(value)
  }
}

/// One subject for each key that was saved or watched.
private final class Subjects<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
  // The dictionary is touched under the lock alone; subjects are called outside of it.
  private let lock = NSLock()
  private var subjects: [Key: ReplaySubject<Value>] = [:]

  subscript(key: Key) -> ReplaySubject<Value> {
    lock.withLock {
      if let subject = subjects[key] { return subject }
      let subject = ReplaySubject<Value>.create(bufferSize: 1)
      subjects[key] = subject
      return subject
    }
  }
}
