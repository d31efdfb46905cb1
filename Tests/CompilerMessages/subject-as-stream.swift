// A subject that is used as a stream, as in RxSwift, or with Combine's names.
// message: a subject is an observer: write subject.asObservable().subscribe(onNext:)
// message: a subject is an observer: write subject.asObservable().map { … }
// message: has been renamed to 'onNext(_:)'

import Streams

func show(_ subject: PublishSubject<Int>, _ bag: DisposeBag) {
  #if CORRECT
    subject.asObservable().map { $0 + 1 }.subscribe(onNext: { print($0) }).disposed(by: bag)
    subject.onNext(1)
  #else
    subject.map { $0 + 1 }.subscribe(onNext: { print($0) }).disposed(by: bag)
    subject.subscribe(onNext: { print($0) }).disposed(by: bag)
    subject.send(1)
  #endif
}
