public import Streams

/// A list that a server gives page by page, found by numbers or by cursors.
///
///     let pager = Pager { cursor in
///       session.getConnection(after: cursor).map { Page($0.nodes, hasNextPage: $0.hasNextPage, endCursor: $0.endCursor) }
///     }
///     pager.states.subscribe(onNext: { show($0.items, $0.phase) })
///     pager.refresh()      // the first page, in the place of all that was there
///     pager.loadMore()     // the next one, below
///
/// Rows are told apart by their ids. One that comes again, since others were put in above it, keeps its place and takes the
/// new value. A row that moves up over the edge of a page, since one above it was deleted, is not seen until a refresh:
/// that is in the nature of page numbers.
///
/// A cursor that was used before ends the list, so that a server's mistake cannot make it endless. If an API repeats
/// one token for all pages, as scroll APIs do, make each cursor distinct, for example by adding the page number.
///
/// Any thread may call. The states come one at a time on the thread that calls, or on the request's; a call that comes while
/// a state is being told is carried out after that. When the pager goes away, its request is cancelled.
public final class Pager<Item: Identifiable & Sendable, Cursor: Equatable & Sendable>: Sendable
where Item.ID: Sendable {
  private let subject = BehaviorSubject(value: PagerState<Item>())
  private let commands: AnyObserver<PagerCommand<Item, Cursor>>

  /// Makes a pager whose first page is asked for without a cursor. Nothing is asked for yet.
  /// - Parameter fetch: Asks for a page; the stream's first element is the answer.
  public init(fetch: @escaping @Sendable (Cursor?) -> Observable<Page<Item, Cursor>>) {
    let machine = PagerMachine(subject, fetch)
    // One at a time, in their order: what finds another in its way is queued.
    commands = AnyObserver { machine.handle($0) }
    machine.commands = commands
  }

  deinit { commands.onCompleted() }

  /// What is there now.
  public var state: PagerState<Item> { subject.value }

  /// What is there now, and each change. It never fails; it completes when the pager goes away.
  public var states: Observable<PagerState<Item>> { subject.asObservable() }

  /// Asks for the first page. It overtakes whatever is under way: that request is cancelled, and a late answer is dropped.
  public func refresh() { commands.onNext(.refresh) }

  /// Asks for the next page, or for the first where there is none yet. Does nothing while a request is under way, and
  /// when all is loaded.
  public func loadMore() { commands.onNext(.loadMore) }
}

extension Pager where Cursor == Int {
  /// Makes a pager of numbered pages. Nothing is asked for yet.
  /// - Parameters:
  ///   - first: The number of the first page.
  ///   - fetch: Asks for a page; the stream's first element is the answer.
  public convenience init(first: Int, fetch: @escaping @Sendable (Int) -> Observable<Page<Item, Int>>) {
    self.init { fetch($0 ?? first) }
  }
}
