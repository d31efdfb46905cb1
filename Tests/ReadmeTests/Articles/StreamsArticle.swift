// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import Streams

enum StreamsArticle {
  static func search(
    _ search: @escaping @Sendable (String) -> Observable<[String]>, show: @escaping @Sendable ([String]) -> Void
  ) -> (PublishSubject<String>, DisposeBag) {
    let bag = DisposeBag()
    let query = PublishSubject<String>()

    query.asObservable()
      .debounce(.milliseconds(300), scheduler: .main)
      .distinctUntilChanged()
      .flatMapLatest { text in search(text).catchAndReturn([]) }
      .subscribe(onNext: { results in show(results) })
      .disposed(by: bag)
    return (query, bag)
  }
}
