import Streams

/// A pager's mutable state.
///
/// `@unchecked Sendable`: `Pager.init` sets `commands` before the first command; after that, all variables are accessed
/// only in `handle`, which the serialised `commands` alone calls, one command at a time.
final class PagerMachine<Item: Identifiable & Sendable, Cursor: Equatable & Sendable>: @unchecked Sendable
where Item.ID: Sendable {
  private struct Edit {
    let id: UInt64
    let change: @Sendable (inout [Item]) -> Void
    /// The last request before it was accepted: the responses of that and of earlier ones may not have it. `nil` until then.
    var acceptedDuring: UInt64?
  }

  private let subject: BehaviorSubject<PagerState<Item>>
  private let fetch: @Sendable (Cursor?) -> Observable<Page<Item, Cursor>>
  var commands: AnyObserver<PagerCommand<Item, Cursor>>?

  /// The rows of the server, with the changes that can no longer be undone.
  private var rows = PagerRows<Item>()
  /// The rows with all changes.
  private var edited = PagerRows<Item>()
  private var edits: [Edit] = []
  private var next: Cursor?
  /// The cursors of the pages loaded so far.
  private var asked: [Cursor] = []
  private var hasFirstPage = false
  private var request: (number: UInt64, isRefresh: Bool, cursor: Cursor?, subscription: DisposeBag)?
  private var lastNumber: UInt64 = 0
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
    case .next(.edit(let id, let change)):
      edits.append(Edit(id: id, change: change))
      edited.apply(change)
      show(subject.value.phase)
    case .next(.accept(let id)):
      guard let place = edits.firstIndex(where: { $0.id == id }) else { return }
      edits[place].acceptedDuring = lastNumber
      if request == nil { foldAccepted() }
    case .next(.undo(let id)):
      guard let place = edits.firstIndex(where: { $0.id == id && $0.acceptedDuring == nil }) else { return }
      edits.remove(at: place)
      applyEdits()
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
    // The server knows them by now.
    foldAccepted()
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
    switch result {
    case .success(let page):
      if request.isRefresh {
        (rows, asked, hasFirstPage) = (PagerRows(), [], true)
        edits.removeAll { ($0.acceptedDuring ?? .max) < number }
      }
      page.items.forEach { rows.put($0) }
      foldAccepted(isCurrent: false)
      applyEdits()
      if let cursor = request.cursor { asked.append(cursor) }
      // A server that returns a cursor that was used before has no more pages.
      next = page.next.flatMap { asked.contains($0) ? nil : $0 }
      show(next == nil ? .noMore : .idle)
    case .failure(let error):
      foldAccepted()
      show(.failed(error))
    }
    tellWaiting()
  }

  /// Makes the oldest changes a part of the rows, as far as they have been accepted.
  /// - Parameter isCurrent: Whether the edited rows are the rows with all changes.
  private func foldAccepted(isCurrent: Bool = true) {
    let count = edits.prefix { $0.acceptedDuring != nil }.count
    if isCurrent, count == edits.count {
      rows = edited
    } else {
      for edit in edits.prefix(count) { rows.apply(edit.change) }
    }
    edits.removeFirst(count)
  }

  private func applyEdits() {
    edited = rows
    for edit in edits { edited.apply(edit.change) }
  }

  private func tellWaiting() {
    for tell in exchange(&waiting, with: []) { tell(subject.value) }
  }

  private func show(_ phase: PagerState<Item>.Phase) {
    subject.onNext(PagerState(items: edited.items, phase: phase))
  }
}

/// Rows, each once.
private struct PagerRows<Item: Identifiable> {
  private(set) var items: [Item] = []
  private var places: [Item.ID: Int] = [:]

  /// Adds a row below, or replaces the one with its id.
  mutating func put(_ item: Item) {
    if let place = places[item.id] {
      items[place] = item
    } else {
      places[item.id] = items.count
      items.append(item)
    }
  }

  mutating func apply(_ change: (inout [Item]) -> Void) {
    var changed = items
    change(&changed)
    (items, places) = ([], [:])
    for item in changed { put(item) }
  }
}

/// A pager's commands, and the results of its requests.
enum PagerCommand<Item: Sendable, Cursor: Sendable>: Sendable {
  /// `then` gets the state after the request; if none is needed, at once.
  case refresh(then: (@Sendable (PagerState<Item>) -> Void)?)
  case loadMore(then: (@Sendable (PagerState<Item>) -> Void)?)
  case edit(UInt64, @Sendable (inout [Item]) -> Void)
  /// The server has accepted the change with this number.
  case accept(UInt64)
  case undo(UInt64)
  /// The result of the request with this number.
  case loaded(UInt64, Result<Page<Item, Cursor>, any Error>)
}
