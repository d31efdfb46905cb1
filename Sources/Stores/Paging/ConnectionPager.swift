public import GraphQLClient
import HTTPClientCore
public import Streams
import StrictJSON
import SystemBase

/// A list of a ``NormalizedStore`` that is loaded page by page, in both directions. Its rows are those that the store has:
/// they are there at once if they were loaded before, two pagers of one list share them, and what changes one of them
/// anywhere shows here, too. Make it by ``NormalizedStore/pager(_:context:session:page:)``.
///
/// Only rows that follow each other without a gap are shown: those from the first page on. What a refresh brings is put
/// to them; the rows of later pages stay if the new first page shares a row with them. If it shares none, or rows of it may
/// have been moved past others that it lacks, they come back when the pages between are loaded.
///
/// Thread-safe; states are published as those of a ``Pager``. When the pager is released, its requests are cancelled.
public final class ConnectionPager<Item: Sendable, Cursor: Equatable & Sendable>: Sendable {
  private let subject = BehaviorSubject(value: ConnectionState<Item>())
  private let commands: AnyObserver<ConnectionCommand>
  private let bag = DisposeBag()

  init(_ source: ConnectionSource<Item, Cursor>, _ snapshots: Observable<Snapshot<NormalizedValue>>) {
    let machine = ConnectionMachine(subject, source)
    commands = AnyObserver { machine.handle($0) }
    machine.commands = commands
    snapshots.subscribe(
      onNext: { [commands] in commands.onNext(.snapshot($0)) }, onCompleted: { [commands] in commands.onCompleted() }
    ).disposed(by: bag)
  }

  deinit { commands.onCompleted() }

  /// The current state.
  public var state: ConnectionState<Item> { subject.value }

  /// The current state, then each change. It never fails, and completes when the pager is released, or its store is
  /// closed.
  public var states: Observable<ConnectionState<Item>> { subject.asObservable() }

  /// Requests the first page; the rows are shown until it comes. A request of it that is in progress is joined.
  public func refresh() { commands.onNext(.load(.first, then: nil)) }

  /// Requests the first page, as ``refresh()`` does, and returns the state once it has come, or the request has failed.
  /// If the task is cancelled, it returns the state at that moment, and the request continues for others.
  @discardableResult
  public func refreshed() async -> ConnectionState<Item> { await state(after: .first) }

  /// Requests the next page, or the first if there is none yet. Does nothing while that is in progress, or if there is
  /// none.
  public func loadMore() { commands.onNext(.load(.next, then: nil)) }

  /// Requests the next page, as ``loadMore()`` does, and returns the state once it has come, or the request has failed;
  /// at once, if there is none. Cancelling the task is as with ``refreshed()``.
  @discardableResult
  public func loadedMore() async -> ConnectionState<Item> { await state(after: .next) }

  /// Requests the page before the first row, or the first if there is none yet. Does nothing while that is in progress,
  /// or if there is none.
  public func loadPrevious() { commands.onNext(.load(.previous, then: nil)) }

  /// Requests the page before the first row, as ``loadPrevious()`` does, and returns the state once it has come, or the
  /// request has failed; at once, if there is none. Cancelling the task is as with ``refreshed()``.
  @discardableResult
  public func loadedPrevious() async -> ConnectionState<Item> { await state(after: .previous) }

  private func state(after load: ConnectionCommand.Place) async -> ConnectionState<Item> {
    let loaded = Observable<Bool>.create { observer in
      self.commands.onNext(.load(load) { observer.onNext(true) })
      // After the end, which the store may have brought, no command is handled.
      let ending = self.states.subscribe(onCompleted: { observer.onNext(true) })
      // The pager stays until then: its end would cancel the request.
      return Disposables.create([ending, Disposables.create { withExtendedLifetime(self) {} }])
    }
    // It fails only if the task is cancelled.
    _ = try? await loaded.value
    return state
  }
}

/// What a ``ConnectionPager`` has, and what it is doing.
public struct ConnectionState<Item: Sendable>: Sendable {
  /// A request for a page.
  public enum Request: Sendable {
    /// There is none.
    case idle
    /// It is in progress.
    case loading
    /// The latest has failed. It is made again when it is asked for.
    case failed(any Error)
  }

  /// The rows, from the first page on.
  public var items: [Item]
  /// Whether the server has more rows behind these.
  public var hasNextPage: Bool
  /// Whether the server has more rows before these.
  public var hasPreviousPage: Bool
  /// Whether the first page is older than the store's stale time, or was invalidated, or rows of it were lost.
  public var isStale: Bool
  /// The request for the first page.
  public var first: Request
  /// The request for the page behind the rows.
  public var next: Request
  /// The request for the page before the rows.
  public var previous: Request

  /// Whether a page is being requested.
  public var isLoading: Bool {
    [first, next, previous].contains { if case .loading = $0 { true } else { false } }
  }

  /// Makes a state, for fixtures.
  public init(
    items: [Item] = [], hasNextPage: Bool = false, hasPreviousPage: Bool = false, isStale: Bool = false,
    first: Request = .idle, next: Request = .idle, previous: Request = .idle
  ) {
    (self.items, self.hasNextPage, self.hasPreviousPage) = (items, hasNextPage, hasPreviousPage)
    (self.isStale, self.first, self.next, self.previous) = (isStale, first, next, previous)
  }
}

extension ConnectionState: Equatable where Item: Equatable {}

extension ConnectionState.Request: Equatable {
  /// Whether two requests are in the same state. Errors count as equal if they are of one type and have one description.
  public static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.idle, .idle), (.loading, .loading): true
    case (.failed(let left), .failed(let right)): Optional(left).isSame(as: right)
    default: false
    }
  }
}

/// Which page of a list an operation requests.
public enum PagePosition<Cursor: Sendable>: Sendable {
  /// The first page; that of a list that is loaded backwards is its last.
  case first
  /// The one behind a cursor.
  case after(Cursor)
  /// The one before a cursor.
  case before(Cursor)

  /// The cursor that the page is behind; `nil` if it is another.
  public var after: Cursor? { if case .after(let cursor) = self { cursor } else { nil } }

  /// The cursor that the page is before; `nil` if it is another.
  public var before: Cursor? { if case .before(let cursor) = self { cursor } else { nil } }
}

extension PagePosition: Equatable where Cursor: Equatable {}

extension PagePosition: Hashable where Cursor: Hashable {}

/// Where a ``ConnectionPager``'s pages come from.
struct ConnectionSource<Item: Sendable, Cursor: Equatable & Sendable>: Sendable {
  /// What the store has now.
  let current: @Sendable () -> Snapshot<NormalizedValue>?
  /// All rows, as one page.
  let page: @Sendable (NormalizedValue) -> Page<Item, Cursor>?
  /// Requests a page, which gets into the store.
  let load: @Sendable (PagePosition<Cursor>) -> Observable<[any Error]>
}

/// A pager's commands, and what comes for it.
enum ConnectionCommand: Sendable {
  enum Place: Hashable, Sendable { case first, next, previous }

  /// `then` is called when the page has come or failed; if none is needed, at once.
  case load(Place, then: (@Sendable () -> Void)?)
  case loaded(Place, (any Error)?)
  case snapshot(Snapshot<NormalizedValue>)
}

/// A connection pager's mutable state.
///
/// `@unchecked Sendable`: the pager's initialiser sets `commands` before the first command; after that, all variables are
/// accessed only in `handle`, which the serialised `commands` alone calls, one command at a time.
private final class ConnectionMachine<Item: Sendable, Cursor: Equatable & Sendable>: @unchecked Sendable {
  private let subject: BehaviorSubject<ConnectionState<Item>>
  private let source: ConnectionSource<Item, Cursor>
  var commands: AnyObserver<ConnectionCommand>?

  private var state = ConnectionState<Item>()
  private var shown: PaddedBytes?
  private var page = Page<Item, Cursor>([], next: nil)
  private var requests: [ConnectionCommand.Place: DisposeBag] = [:]
  private var waiting: [ConnectionCommand.Place: [@Sendable () -> Void]] = [:]

  init(_ subject: BehaviorSubject<ConnectionState<Item>>, _ source: ConnectionSource<Item, Cursor>) {
    (self.subject, self.source) = (subject, source)
  }

  func handle(_ event: Event<ConnectionCommand>) {
    switch event {
    case .next(.snapshot(let snapshot)):
      if take(snapshot) { subject.onNext(state) }
    case .next(.load(let place, let completion)):
      let place = shown == nil ? .first : place
      load(place)
      if let completion {
        if requests[place] == nil { completion() } else { waiting[place, default: []].append(completion) }
      }
    case .next(.loaded(let place, let error)):
      guard requests.removeValue(forKey: place) != nil else { return }
      // The page is in the store, whose watchers may hear of it later than this.
      if let snapshot = source.current() { _ = take(snapshot) }
      set(error.map { .failed($0) } ?? .idle, place)
      subject.onNext(state)
      for tell in waiting.removeValue(forKey: place) ?? [] { tell() }
    case .error, .completed:
      for bag in requests.values { bag.dispose() }
      requests = [:]
      commands = nil
      for tell in waiting.values.joined() { tell() }
      waiting = [:]
      subject.onCompleted()
    }
  }

  /// Takes what the store shows; returns whether that is news.
  private func take(_ snapshot: Snapshot<NormalizedValue>) -> Bool {
    var isNew = state.isStale != snapshot.isStale
    state.isStale = snapshot.isStale
    // A store that has lost everything, or hides it, shows no value.
    if snapshot.value?.json != shown, let page = snapshot.value.map(source.page) ?? Page([], next: nil) {
      (shown, self.page, isNew) = (snapshot.value?.json, page, true)
      state.items = page.items
      (state.hasNextPage, state.hasPreviousPage) = (page.next != nil, page.previous != nil)
    }
    // A request of the pager's own is said to be over when its page has been taken.
    if requests[.first] != nil { return isNew }
    let first = snapshot.isFetching ? .loading : snapshot.errors.first.map { .failed($0) } ?? Request.idle
    if first != state.first { (state.first, isNew) = (first, true) }
    return isNew
  }

  private typealias Request = ConnectionState<Item>.Request

  private func load(_ place: ConnectionCommand.Place) {
    let position: PagePosition<Cursor>? =
      switch place {
      case .first: .first
      case .next: page.next.map { .after($0) }
      case .previous: page.previous.map { .before($0) }
      }
    guard requests[place] == nil, let position, let commands else { return }
    let bag = DisposeBag()
    requests[place] = bag
    set(.loading, place)
    subject.onNext(state)
    source.load(position).take(1).asSingle().subscribe(
      onNext: { commands.onNext(.loaded(place, $0.first)) }, onError: { commands.onNext(.loaded(place, $0)) }
    ).disposed(by: bag)
  }

  private func set(_ request: Request, _ place: ConnectionCommand.Place) {
    switch place {
    case .first: state.first = request
    case .next: state.next = request
    case .previous: state.previous = request
    }
  }
}

extension NormalizedStore {
  /// A pager of a list that ``RecordSchema/paging`` names.
  ///
  ///     let pager = store.pager { page in
  ///       GetIssues(variables: .init(first: 20, after: page.after))
  ///     } page: { data in
  ///       Page(data.issues.nodes, hasNextPage: data.issues.pageInfo.hasNextPage, endCursor: data.issues.pageInfo.endCursor)
  ///     }
  ///
  /// The first page is read, and requested if need be, by the policy, as ``stream(_:_:context:allowsPartial:)`` would;
  /// the others are requested by calls.
  /// - Parameters:
  ///   - policy: How the first page is read.
  ///   - context: What the requests know of their caller.
  ///   - session: The operation that requests a page. All have the same arguments but those of pages.
  ///   - page: The rows in a response, and the cursors at their ends. It is given one response with all rows.
  public func pager<Session: GraphQLSession, Item: Sendable, Cursor: Equatable & Sendable>(
    _ policy: FetchPolicy = .cacheFirst, context: ReadContext = ReadContext(),
    session: @escaping @Sendable (PagePosition<Cursor>) -> Session,
    page: @escaping @Sendable (Session.ResponseData) -> Page<Item, Cursor>
  ) -> ConnectionPager<Item, Cursor> {
    let allPages = { @Sendable [client] in
      try NormalizedKey(session(.first), .allPages, by: client.encoder)
    }
    let source = ConnectionSource<Item, Cursor>(
      current: { [self] in (try? allPages()).flatMap { peek($0) } },
      page: { ($0.value as? Session.ResponseData).map(page) },
      load: { [self] position in
        .deferred { [self] in
          if case .first = position { return read(try allPages(), .networkOnly, context).map(\.errors) }
          return get(session(position), .networkOnly, context: context).map(\.errors)
        }
      })
    return ConnectionPager(
      source, .deferred { [self] in snapshots(of: try allPages(), policy, context) })
  }
}
