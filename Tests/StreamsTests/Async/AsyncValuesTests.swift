import Streams
import Testing

@Suite struct AsyncValuesTests {
  @Test(.timeLimit(.minutes(1)), arguments: [BufferingPolicy.unbounded, .bufferingNewest(1)])
  func `41: a loop over a subject that goes away ends`(_ policy: BufferingPolicy) async throws {
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
  func `41: a cancelled task hears nothing of an error that comes after what it has not taken`(
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

  @Test func `16: an iterator that goes away releases its source and what it has not taken`() {
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
