// A stream that is made by an initializer.
// message: write Observable.create, just, from, async, deferred, empty or never
// message: write Observable.create { observer in … }, whose closure returns a disposable
// message: write Observable.async { … }
// message: An AsyncSequence becomes a stream by Observable.from(sequence)

import Streams

func streams(_ sequence: AsyncStream<Int>, _ load: @escaping @Sendable () async throws -> Int) -> [Observable<Int>] {
  #if CORRECT
    let observed = Observable<Int>.create { observer in
      observer.onNext(1)
      return Disposables.create()
    }
    return [.empty(), observed, .async { try await load() }, .from(sequence)]
  #else
    let observed = Observable<Int> { observer in
      observer.onNext(1)
      return Disposables.create()
    }
    return [Observable<Int>(), observed, Observable<Int> { try await load() }, Observable<Int>(sequence)]
  #endif
}
