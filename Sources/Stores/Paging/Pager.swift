import HTTPClientCore
public import Streams
import SystemBase

/// Loads a list page by page, by page number or by cursor.
///
///     let pager = Pager { cursor in
///       session.getConnection(after: cursor).map {
///         Page($0.nodes, hasNextPage: $0.hasNextPage, endCursor: $0.endCursor)
///       }
///     }
///     pager.states.subscribe(onNext: { show($0.items, $0.phase) })
///     pager.refresh()      // the first page, replacing all rows
///     pager.loadMore()     // the next page, below
///
/// Rows are identified by their ids. A row that comes again, because others were inserted above it, keeps its place and
/// takes the new value. A row that moves to an earlier page, because one above it was deleted, is not seen until a
/// refresh: page numbers cannot avoid that.
///
/// A cursor that was used before ends the list, so that a server's mistake cannot make it endless. If an API repeats
/// one token for all pages, as scroll APIs do, make each cursor distinct, for example by adding the page number.
///
/// Thread-safe. States are published one at a time, on the caller's thread or the request's; a call made while a state
/// is being published takes effect after it. When the pager is released, its request is cancelled.
public final class Pager<Item: Identifiable & Sendable, Cursor: Equatable & Sendable>: Sendable
where Item.ID: Sendable {
  private let subject = BehaviorSubject(value: PagerState<Item>())
  private let commands: AnyObserver<PagerCommand<Item, Cursor>>
  private let numbers = Numbers()

  /// Makes a pager that requests its first page without a cursor. Nothing is requested yet.
  /// - Parameter fetch: Requests a page; the stream's first element is the response.
  public init(fetch: @escaping @Sendable (Cursor?) -> Observable<Page<Item, Cursor>>) {
    let machine = PagerMachine(subject, fetch)
    // Serialised and in order: a command that comes during another is queued.
    commands = AnyObserver { machine.handle($0) }
    machine.commands = commands
  }

  deinit { commands.onCompleted() }

  /// The current state.
  public var state: PagerState<Item> { subject.value }

  /// The current state, then each change. It never fails, and completes when the pager is released.
  public var states: Observable<PagerState<Item>> { subject.asObservable() }

  /// Requests the first page. Any request in progress is cancelled, and its late response dropped.
  public func refresh() { commands.onNext(.refresh(then: nil)) }

  /// Requests the first page, as ``refresh()`` does, and returns the state once the page has come, or the request has
  /// failed (see ``PagerState/error``). If another refresh takes over, it waits for that one. If the task is cancelled,
  /// it returns the state at that moment, and the request continues for others.
  @discardableResult
  public func refreshed() async -> PagerState<Item> {
    await state { .refresh(then: $0) }
  }

  /// Requests the next page, or the first if there is none yet. Does nothing while a request is in progress, or if all
  /// pages are loaded.
  public func loadMore() { commands.onNext(.loadMore(then: nil)) }

  /// Requests the next page, as ``loadMore()`` does, and returns the state once the page has come, or the request has
  /// failed (see ``PagerState/error``). If another request is in progress, it waits for that one; if all pages are
  /// loaded, it returns at once. Cancelling the task is as with ``refreshed()``.
  @discardableResult
  public func loadedMore() async -> PagerState<Item> {
    await state { .loadMore(then: $0) }
  }

  /// The state after a command.
  private func state(
    after command: @escaping @Sendable (@escaping @Sendable (PagerState<Item>) -> Void) -> PagerCommand<Item, Cursor>
  ) async -> PagerState<Item> {
    let stateAfter = Observable<PagerState<Item>>.create { observer in
      self.commands.onNext(command { observer.onNext($0) })
      // The pager stays until then: its end would cancel the request.
      return Disposables.create { withExtendedLifetime(self) {} }
    }
    // It fails only if the task is cancelled.
    return (try? await stateAfter.value) ?? state
  }

  /// Changes the rows that are loaded, as after a like or a deletion, until it is undone or accepted.
  ///
  /// As long as somebody retains the result, the server may not know of the change yet: it is made again to the rows with
  /// each response, and can be undone. When the result is released, as at once if it is not used, the change counts as
  /// accepted: it is made again only with the response of a request that is in progress, which may have begun before, and
  /// is replaced by what later responses say.
  /// - Parameter change: Called on the thread that publishes the new state, and again for each response, so it should set
  ///   what changes, not count or append. A row that it adds a second time keeps its place and takes the new value.
  @discardableResult
  public func edit(_ change: @escaping @Sendable (inout [Item]) -> Void) -> PagerEdit {
    Self.edit(change, commands, number: numbers.next())
  }

  private static func edit(
    _ change: @escaping @Sendable (inout [Item]) -> Void, _ commands: AnyObserver<PagerCommand<Item, Cursor>>,
    number: UInt64
  ) -> PagerEdit {
    commands.onNext(.edit(number, change))
    return PagerEdit(
      accept: { commands.onNext(.accept(number)) }, undo: { commands.onNext(.undo(number)) })
  }

  /// A cold stream that changes something on the server, and shows the change in the rows at once.
  ///
  /// On subscription the rows are changed, as by ``edit(_:)``, and `send` is subscribed to. Its response accepts the
  /// change; a failure, or disposing, undoes it. A refresh in between, or one that is in progress at the response, shows
  /// the change, too, though its page may not have it.
  /// - Parameters:
  ///   - optimistic: Changes the rows; see ``edit(_:)``.
  ///   - send: Makes the request; the stream's first element is the response.
  public func mutate<Response: Sendable>(
    optimistic: @escaping @Sendable (inout [Item]) -> Void, send: @escaping @Sendable () -> Observable<Response>
  ) -> Observable<Response> {
    .create { [commands, numbers] observer in
      let edit = Self.edit(optimistic, commands, number: numbers.next())
      let request = send().take(1).asSingle().subscribe(
        onNext: { response in
          edit.accept()
          observer.onNext(response)
          observer.onCompleted()
        },
        onError: { error in
          edit.undo()
          observer.onError(error)
        })
      return Disposables.create([Disposables.create { edit.undo() }, request])
    }
  }
}

/// A change of the rows of a ``Pager``, which can be undone. Thread-safe.
public final class PagerEdit: Sendable {
  private let end: Locked<(accept: @Sendable () -> Void, undo: @Sendable () -> Void)?>

  init(accept: @escaping @Sendable () -> Void, undo: @escaping @Sendable () -> Void) {
    end = Locked((accept, undo))
  }

  deinit { accept() }

  /// The server has accepted the change: it can no longer be undone, and is replaced by the responses to requests that
  /// begin from now on. The same happens when this is released.
  public func accept() { end.withLock { exchange(&$0, with: nil) }?.accept() }

  /// Takes the change back: the rows are shown as they are without it. Does nothing after ``accept()``.
  public func undo() { end.withLock { exchange(&$0, with: nil) }?.undo() }
}

/// Gives numbers, each once.
private struct Numbers: Sendable {
  private let last = Locked<UInt64>(0)

  func next() -> UInt64 {
    last.withLock { last in
      last += 1
      return last
    }
  }
}

extension Pager where Cursor == Int {
  /// Makes a pager of numbered pages. Nothing is requested yet.
  /// - Parameters:
  ///   - firstPage: The number of the first page.
  ///   - fetch: Requests a page; the stream's first element is the response.
  public convenience init(firstPage: Int, fetch: @escaping @Sendable (Int) -> Observable<Page<Item, Int>>) {
    self.init { fetch($0 ?? firstPage) }
  }
}

/// What a ``Pager`` has loaded so far, and what it is doing.
public struct PagerState<Item: Sendable>: Sendable {
  /// What a pager is doing.
  public enum Phase: Sendable {
    /// Nothing; there may be more to load.
    case idle
    /// Requesting the first page. The rows loaded before are shown until the response comes.
    case refreshing
    /// Requesting the next page.
    case loadingMore
    /// Nothing: all pages are loaded.
    case noMore
    /// Nothing: the latest request failed. The rows loaded before it are kept, and either request may be made again.
    case failed(any Error)
  }

  /// All rows loaded so far, each once.
  public var items: [Item]

  /// What the pager is doing.
  public var phase: Phase

  /// Whether a request is in progress, for the first page or the next.
  public var isLoading: Bool {
    switch phase {
    case .refreshing, .loadingMore: true
    case .idle, .noMore, .failed: false
    }
  }

  /// Whether there may be more rows than these.
  public var mayHaveMore: Bool { if case .noMore = phase { false } else { true } }

  /// Why the latest request failed; `nil` if it did not, or another one has begun.
  public var error: (any Error)? { if case .failed(let error) = phase { error } else { nil } }

  /// Makes a state, for fixtures.
  public init(items: [Item] = [], phase: Phase = .idle) {
    self.items = items
    self.phase = phase
  }
}

extension PagerState: Equatable where Item: Equatable {}

extension PagerState.Phase: Equatable {
  /// Whether two phases are the same. Errors count as equal if they are of one type and have one description.
  public static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.idle, .idle), (.refreshing, .refreshing), (.loadingMore, .loadingMore), (.noMore, .noMore): true
    case (.failed(let left), .failed(let right)): Optional(left).isSame(as: right)
    default: false
    }
  }
}
