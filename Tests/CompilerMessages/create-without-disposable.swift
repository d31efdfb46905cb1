// A closure of `create` that returns nothing.
// message: missing return in closure expected to return 'any Disposable'

import Streams

func stream() -> Observable<Int> {
  .create { observer in
    observer.onNext(1)
    observer.onCompleted()
    #if CORRECT
      return Disposables.create()
    #endif
  }
}
