// RxSwift's names.
// message: write Observable.from([…])
// message: write take(1), or try await stream.value
// message: write subscribe(subject)
// message: cannot find type 'Single' in scope
// message: cannot find 'MainScheduler' in scope

import Streams

#if CORRECT
  func show(_ number: Observable<Int>, _ subject: PublishSubject<Int>, _ bag: DisposeBag) {
    Observable.from([1, 2]).take(1).subscribe(subject).disposed(by: bag)
    number.asSingle().observe(on: .main).subscribe(onNext: { print($0) }).disposed(by: bag)
  }
#else
  func show(_ number: Single<Int>, _ subject: PublishSubject<Int>, _ bag: DisposeBag) {
    Observable.of(1, 2).first().bind(to: subject).disposed(by: bag)
    Observable.just(1).observe(on: MainScheduler.instance).subscribe(onNext: { print($0) }).disposed(by: bag)
  }
#endif
