import SystemBase
import Testing

@testable import Streams

@Suite struct AsyncValuesTests {
  static let policies: [BufferingPolicy] = [.unbounded, .bufferingOldest(1), .bufferingNewest(1)]

  /// Starts a task that collects what `subject` sends, and returns when that waits for the first element.
  private func waitingTask(_ subject: PublishSubject<Int>, _ policy: BufferingPolicy) async -> Task<[Int], any Error> {
    let buffer = Locked<AsyncBuffer<Int>?>(nil)
    let task = Task {
      var received: [Int] = []
      var iterator = subject.asObservable().values(bufferingPolicy: policy).makeAsyncIterator()
      buffer.withLock { [own = iterator.buffer] in $0 = own }
      while let element = try await iterator.next() { received.append(element) }
      return received
    }
    while buffer.withLock({ $0 })?.state.withLock({ $0.waiting.isEmpty }) ?? true { await Task.yield() }
    return task
  }

  @Test(.timeLimit(.minutes(1)), arguments: policies)
  func `41: cancelling a task that waits ends its loop, and disposes`(_ policy: BufferingPolicy) async throws {
    let subject = PublishSubject<Int>()
    let task = await waitingTask(subject, policy)
    task.cancel()
    #expect(subject.hub.members.isEmpty)
    // Heard by none that was disposed, and the end of one that was not.
    subject.onCompleted()
    #expect(try await task.value == [])
  }

  @Test(.timeLimit(.minutes(1)), arguments: policies)
  func `41: an element that a task waits for takes no room in its buffer`(_ policy: BufferingPolicy) async throws {
    for _ in 0..<100 {
      let subject = PublishSubject<Int>()
      let task = await waitingTask(subject, policy)
      for element in 1...2 { subject.onNext(element) }
      subject.onCompleted()
      #expect(try await task.value == [1, 2])
    }
  }

  @Test func `41: a task that is cancelled already does not subscribe`() async throws {
    let runs = Counter()
    let source = Observable<Int>.deferred {
      runs.increment()
      return .from(1...9)
    }
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      for try await _ in source.values(bufferingPolicy: .unbounded) { Issue.record("an element") }
    }
    try await task.value
    #expect(runs.count == 0)
  }

  @Test(.timeLimit(.minutes(1)), arguments: [BufferingPolicy.unbounded, .bufferingNewest(1)])
  func `41: a loop over a subject that is released ends`(_ policy: BufferingPolicy) async throws {
    var subject: PublishSubject<Int>? = PublishSubject()
    var iterator = subject?.asObservable().values(bufferingPolicy: policy).makeAsyncIterator()
    subject?.onNext(1)
    subject = nil
    #expect(try await iterator?.next() == 1)
    await #expect(throws: CancellationError.self) { try await iterator?.next() }
    #expect(try await iterator?.next() == nil)
  }

  @Test func `41: an error is thrown once, and nil follows it`() async throws {
    var iterator = Observable<Int>.error(Broken()).values(bufferingPolicy: .unbounded).makeAsyncIterator()
    await #expect(throws: Broken.self) { try await iterator.next() }
    #expect(try await iterator.next() == nil)
    #expect(try await iterator.next() == nil)
  }

  @Test(arguments: [BufferingPolicy.unbounded, .bufferingOldest(100), .bufferingNewest(100)])
  func `41: a cancelled task does not receive an error that comes after elements it has not taken`(
    _ policy: BufferingPolicy
  ) async throws {
    let task = Task {
      var received: [Int] = []
      for try await element in Observable.from(1...3).concat(.error(Broken())).values(bufferingPolicy: policy) {
        received.append(element)
        withUnsafeCurrentTask { $0?.cancel() }
      }
      return received
    }
    #expect(try await task.value == [1])
  }

  @Test(arguments: [BufferingPolicy.unbounded, .bufferingOldest(100), .bufferingNewest(100)])
  func `41: copies of an iterator take turns, so that each element comes once`(_ policy: BufferingPolicy) async throws {
    var first = Observable.from(1...9).values(bufferingPolicy: policy).makeAsyncIterator()
    var second = first
    var received: [Int?] = []
    for _ in 1...3 {
      received.append(try await first.next())
      received.append(try await second.next())
      var third = second
      received.append(try await third.next())
    }
    #expect(received == Array(1...9))
    #expect(try await first.next() == nil)
    #expect(try await second.next() == nil)
  }

  @Test func `16: an iterator that is released releases its source and the elements that it has not taken`() {
    weak var inSource: Token?
    do {
      let token = Token()
      inSource = token
      let source = Observable.just(token).concat(.never()).do(onNext: { _ in token.touch() })
      _ = source.values(bufferingPolicy: .unbounded).makeAsyncIterator()
    }
    #expect(inSource == nil)
  }
}

@Suite struct AsyncBufferTests {
  /// Calls in when it goes away.
  private final class CallingError: Error {
    let call: @Sendable () -> Void
    init(_ call: @escaping @Sendable () -> Void) { self.call = call }
    deinit { call() }
  }

  @Test(.timeLimit(.minutes(1))) func `23: an error that was not taken is released under no lock`() {
    let buffer = AsyncBuffer<Int>(.unbounded)
    buffer.append(1)
    buffer.finish(CallingError { _ = buffer.take() })
    buffer.cancel()
    guard case .end(nil)? = buffer.take() else { return #expect(Bool(false), "the buffer has not ended") }
  }
}
