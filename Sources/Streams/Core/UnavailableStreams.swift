@preconcurrency public import Dispatch

// Names that people know from elsewhere, where the compiler's own message would not say what to write. None of these is
// chosen where something else fits: what is unavailable comes last.

extension Observable {
  /// Not a way to make a stream.
  @available(*, unavailable, message: "write Observable.create, just, from, async, deferred, empty or never")
  public init() { self = .never() }

  /// Not for closures with an observer.
  @available(*, unavailable, message: "write Observable.create { observer in … }, whose closure returns a disposable")
  public init(_ subscribe: @escaping (AnyObserver<Element>) -> any Disposable) { self = .never() }

  /// Not for `async` code.
  @available(*, unavailable, message: "write Observable.async { … }")
  public init(_ work: @escaping () async throws -> Element) { self = .never() }

  /// Not for asynchronous sequences.
  @available(*, unavailable, message: "An AsyncSequence becomes a stream by Observable.from(sequence)")
  public init<Elements: AsyncSequence>(_ sequence: Elements) where Elements.Element == Element { self = .never() }

  /// RxSwift's `of`.
  @available(*, unavailable, message: "write Observable.from([…])")
  public static func of(_ elements: Element...) -> Observable<Element> { .never() }

  /// RxSwift's `subscribe(_:)`, with a closure that takes events.
  @available(
    *, unavailable, message: "the closure takes elements, not events: write subscribe(onNext:onError:onCompleted:)"
  )
  public func subscribe(_ on: @escaping (Event<Element>) -> Void) -> any Disposable { Disposables.create() }

  /// RxSwift's `bind(to:)`.
  @available(*, unavailable, message: "write subscribe(subject)")
  public func bind(to observer: some ObserverType<Element>) -> any Disposable { Disposables.create() }

  /// RxSwift's and Combine's `first()`.
  @available(*, unavailable, message: "write take(1), or try await stream.value")
  public func first() -> Observable<Element> { self }

  /// Combine's `sink`.
  @available(*, unavailable, message: "write subscribe(onNext: { … })")
  @discardableResult
  public func sink(receiveValue: @escaping (Element) -> Void) -> any Disposable { Disposables.create() }

  /// Combine's `sink`.
  @available(*, unavailable, message: "write subscribe(onNext:onError:onCompleted:)")
  @discardableResult
  public func sink(
    receiveCompletion: @escaping (Event<Element>) -> Void, receiveValue: @escaping (Element) -> Void
  ) -> any Disposable { Disposables.create() }

  /// Combine's `receive(on:)`.
  @available(*, unavailable, message: "write observe(on:), with .main or another Scheduler")
  public func receive(on scheduler: some Any) -> Observable<Element> { self }

  /// Combine's `removeDuplicates()`.
  @available(*, unavailable, renamed: "distinctUntilChanged()")
  public func removeDuplicates() -> Observable<Element> { self }

  /// Combine's `eraseToAnyPublisher()`.
  @available(*, unavailable, message: "leave it out: every stream is an Observable")
  public func eraseToAnyPublisher() -> Observable<Element> { self }

  /// Combine's and RxSwift's operator of streams of streams.
  @available(*, unavailable, message: "write flatMapLatest { … } in the place of the map before it")
  public func switchToLatest() -> Observable<Element> { self }
}

extension Disposable {
  /// Combine's `store(in:)`.
  @available(*, unavailable, message: "write disposed(by: bag), with a DisposeBag")
  public func store<Collection>(in collection: inout Collection) {}
}

/// A subject is no stream, though one in RxSwift is.
extension ObserverType {
  /// Not for subjects.
  @available(*, unavailable, message: "a subject is an observer: write subject.asObservable().subscribe(onNext:)")
  public func subscribe(
    onNext: ((Element) -> Void)? = nil, onError: ((any Error) -> Void)? = nil, onCompleted: (() -> Void)? = nil,
    onDisposed: (() -> Void)? = nil
  ) -> any Disposable { Disposables.create() }

  /// Not for subjects.
  @available(*, unavailable, message: "a subject is an observer: write subject.asObservable().map { … }")
  public func map<Result>(_ transform: (Element) throws -> Result) -> Observable<Result> { .never() }

  /// Not for subjects.
  @available(*, unavailable, message: "a subject is an observer: write subject.asObservable().filter { … }")
  public func filter(_ predicate: (Element) throws -> Bool) -> Observable<Element> { .never() }

  /// Not for subjects.
  @available(*, unavailable, message: "a subject is an observer: write subject.asObservable().observe(on:)")
  public func observe(on scheduler: some Any) -> Observable<Element> { .never() }

  /// Combine's name.
  @available(*, unavailable, renamed: "onNext(_:)")
  public func send(_ element: Element) {}

  /// A relay's name in RxSwift.
  @available(*, unavailable, renamed: "onNext(_:)")
  public func accept(_ element: Element) {}
}

/// A queue does not say whether it is serial.
@available(*, unavailable, message: "write .main, SerialScheduler(queue:) or ConcurrentScheduler(queue:)")
extension DispatchQueue: Scheduler {
  /// The time since the machine booted.
  public var now: Duration { .uptime }
  /// Runs `action` on the queue.
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    ConcurrentScheduler(queue: self).schedule(action)
  }
  /// Runs `action` on the queue after a delay.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    ConcurrentScheduler(queue: self).schedule(after: delay, action)
  }
}
