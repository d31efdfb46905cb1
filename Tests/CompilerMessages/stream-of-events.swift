// A closure that takes events, as in RxSwift.
// message: the closure takes elements, not events: write subscribe(onNext:onError:onCompleted:)

import Streams

func show(_ numbers: Observable<Int>, _ bag: DisposeBag) {
  #if CORRECT
    numbers.subscribe(onNext: { print($0) }, onError: { print($0) }).disposed(by: bag)
  #else
    numbers.subscribe { event in
      switch event {
      case .next(let number): print(number)
      case .error(let error): print(error)
      case .completed: break
      }
    }.disposed(by: bag)
  #endif
}
