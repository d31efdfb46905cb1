// Combine's names.
// message: write observe(on:), with .main or another Scheduler
// message: 'removeDuplicates()' has been renamed to 'distinctUntilChanged()'
// message: write flatMapLatest { … } in the place of the map before it
// message: leave it out: every stream is an Observable
// message: write subscribe(onNext: { … })
// message: write subscribe(onNext:onError:onCompleted:)
// message: write disposed(by: bag), with a DisposeBag
// message: cannot find type 'AnyCancellable' in scope

import Dispatch
import Streams

func show(_ texts: Observable<String>, _ search: @escaping @Sendable (String) -> Observable<Int>, _ bag: DisposeBag) {
  #if CORRECT
    let results = texts.distinctUntilChanged().flatMapLatest { search($0) }.observe(on: .main)
    results.subscribe(onNext: { print($0) }).disposed(by: bag)
    results.subscribe(onNext: { print($0) }, onError: { print($0) }).disposed(by: bag)
  #else
    var cancellables: [any Disposable] = []
    texts.removeDuplicates().eraseToAnyPublisher().subscribe(onNext: { print($0) }).store(in: &cancellables)
    texts.map { search($0) }.switchToLatest().receive(on: DispatchQueue.main).sink { print($0) }
    texts.sink(receiveCompletion: { print($0) }, receiveValue: { print($0) })
  #endif
}

final class Screen: Sendable {
  #if CORRECT
    private let bag = DisposeBag()
  #else
    private var cancellables = Set<AnyCancellable>()
  #endif
}
