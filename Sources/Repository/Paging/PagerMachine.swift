import Streams

/// A pager's mutable state.
///
/// `@unchecked Sendable`: `Pager.init` sets `commands` before the first command; after that, all variables are accessed
/// only in `handle`, which the serialised `commands` alone calls, one command at a time.
final class PagerMachine<Item: Identifiable & Sendable, Cursor: Equatable & Sendable>: @unchecked Sendable
where Item.ID: Sendable {
  private let subject: BehaviorSubject<PagerState<Item>>
  private let fetch: @Sendable (Cursor?) -> Observable<Page<Item, Cursor>>
  var commands: AnyObserver<PagerCommand<Item, Cursor>>?

  private var items: [Item] = []
  private var places: [Item.ID: Int] = [:]
  private var next: Cursor?
  /// The cursors of the pages loaded so far.
  private var asked: [Cursor] = []
  private var hasFirstPage = false
  private var request: (number: UInt64, isRefresh: Bool, cursor: Cursor?, subscription: DisposeBag)?
  private var lastNumber: UInt64 = 0
  /// The changes made during the request in progress.
  private var edits: [@Sendable (inout [Item]) -> Void] = []
  /// Called when the request in progress ends.
  private var waiting: [@Sendable (PagerState<Item>) -> Void] = []

  init(
    _ subject: BehaviorSubject<PagerState<Item>>,
    _ fetch: @escaping @Sendable (Cursor?) -> Observable<Page<Item, Cursor>>
  ) {
    self.subject = subject
    self.fetch = fetch
  }

  func handle(_ event: Event<PagerCommand<Item, Cursor>>) {
    switch event {
    case .next(.refresh(let completion)):
      if let completion { waiting.append(completion) }
      load(isRefresh: true)
    case .next(.loadMore(let completion)):
      if let completion { waiting.append(completion) }
      loadMore()
      if request == nil { tellWaiting() }
    case .next(.edit(let change)):
      if request != nil { edits.append(change) }
      apply(change)
      show(subject.value.phase)
    case .next(.loaded(let number, let result)): finish(number, result)
    case .error, .completed:
      request?.subscription.dispose()
      request = nil
      commands = nil
      subject.onCompleted()
    }
  }

  private func loadMore() {
    guard request == nil else { return }
    if !hasFirstPage {
      load(isRefresh: true)
    } else if next != nil {
      load(isRefresh: false)
    } else if case .failed = subject.value.phase {
      show(.noMore)
    }
  }

  private func load(isRefresh: Bool) {
    request?.subscription.dispose()
    // Made before this request, they are what the server knows by now, or has not accepted.
    edits = []
    lastNumber += 1
    let (number, cursor, bag) = (lastNumber, isRefresh ? nil : next, DisposeBag())
    request = (number, isRefresh, cursor, bag)
    show(isRefresh ? .refreshing : .loadingMore)
    guard let commands else { return }
    fetch(cursor).take(1).asSingle().subscribe(
      onNext: { commands.onNext(.loaded(number, .success($0))) },
      onError: { commands.onNext(.loaded(number, .failure($0))) }
    ).disposed(by: bag)
  }

  private func finish(_ number: UInt64, _ result: Result<Page<Item, Cursor>, any Error>) {
    guard let request, request.number == number else { return }
    self.request = nil
    defer { edits = [] }
    switch result {
    case .success(let page):
      if request.isRefresh { (items, places, asked, hasFirstPage) = ([], [:], [], true) }
      page.items.forEach(put)
      edits.forEach(apply)
      if let cursor = request.cursor { asked.append(cursor) }
      // A server that returns a cursor that was used before has no more pages.
      next = page.next.flatMap { asked.contains($0) ? nil : $0 }
      show(next == nil ? .noMore : .idle)
    case .failure(let error): show(.failed(error))
    }
    tellWaiting()
  }

  private func tellWaiting() {
    for tell in exchange(&waiting, with: []) { tell(subject.value) }
  }

  private func apply(_ change: (inout [Item]) -> Void) {
    var edited = items
    change(&edited)
    (items, places) = ([], [:])
    edited.forEach(put)
  }

  private func put(_ item: Item) {
    if let place = places[item.id] {
      items[place] = item
    } else {
      places[item.id] = items.count
      items.append(item)
    }
  }

  private func show(_ phase: PagerState<Item>.Phase) {
    subject.onNext(PagerState(items: items, phase: phase))
  }
}

/// A pager's commands, and the results of its requests.
enum PagerCommand<Item: Sendable, Cursor: Sendable>: Sendable {
  /// `then` gets the state after the request; if none is needed, at once.
  case refresh(then: (@Sendable (PagerState<Item>) -> Void)?)
  case loadMore(then: (@Sendable (PagerState<Item>) -> Void)?)
  case edit(@Sendable (inout [Item]) -> Void)
  /// The result of the request with this number.
  case loaded(UInt64, Result<Page<Item, Cursor>, any Error>)
}
