// A queue in the place of a scheduler, and seconds in the place of a duration.
// message: conformance of 'DispatchQueue' to 'Scheduler' is unavailable: write .main, SerialScheduler(queue:) or
// message: cannot convert value of type 'Double' to expected argument type 'Duration'

import Dispatch
import Streams

func show(_ numbers: Observable<Int>, _ bag: DisposeBag) {
  #if CORRECT
    numbers.observe(on: .main).subscribe(onNext: { print($0) }).disposed(by: bag)
    numbers.debounce(.milliseconds(300), scheduler: .main).subscribe(onNext: { print($0) }).disposed(by: bag)
  #else
    numbers.observe(on: DispatchQueue.main).subscribe(onNext: { print($0) }).disposed(by: bag)
    numbers.debounce(0.3, scheduler: .main).subscribe(onNext: { print($0) }).disposed(by: bag)
  #endif
}
