import Streams
import Synchronization
import Testing

@Suite struct FromAsyncSequenceTests {
  /// Numbers from 0, as many as are asked for.
  private struct Numbers: AsyncSequence, Sendable {
    struct Broken: Error {}

    final class Counts: Sendable {
      let asked = Atomic(0)
      let ended = Atomic(0)
    }

    let counts = Counts()
    var failsAt = Int.max

    struct Iterator: AsyncIteratorProtocol {
      let numbers: Numbers
      var number = -1

      mutating func next() async throws -> Int? {
        numbers.counts.asked.add(1, ordering: .relaxed)
        await Task.yield()
        if Task.isCancelled {
          numbers.counts.ended.add(1, ordering: .relaxed)
          return nil
        }
        number += 1
        if number == numbers.failsAt { throw Broken() }
        return number
      }
    }

    func makeAsyncIterator() -> Iterator { Iterator(numbers: self) }
  }

  /// Numbers from 0, whatever becomes of the task.
  private struct Endless: AsyncSequence, Sendable {
    let onRelease: @Sendable () -> Void

    final class Iterator: AsyncIteratorProtocol {
      private let token: Token
      private var number = -1

      init(onRelease: @escaping @Sendable () -> Void) { token = Token(onDeinit: onRelease) }

      func next() async -> Int? {
        await Task.yield()
        number += 1
        return number
      }
    }

    func makeAsyncIterator() -> Iterator { Iterator(onRelease: onRelease) }
  }

  @Test func `the elements of an asynchronous sequence come in order, for each subscriber`() async throws {
    let stream = Observable.from(Numbers()).take(3)
    for _ in 0..<2 {
      var elements: [Int] = []
      for try await element in stream.values { elements.append(element) }
      #expect(elements == [0, 1, 2])
    }
  }

  @Test func `an asynchronous sequence that throws fails the stream`() async throws {
    var elements: [Int] = []
    await #expect(throws: Numbers.Broken.self) {
      for try await element in Observable.from(Numbers(failsAt: 2)).values { elements.append(element) }
    }
    #expect(elements == [0, 1])
  }

  @Test func `disposing cancels the task, which asks for no more`() async throws {
    let numbers = Numbers()
    let subscription = Observable.from(numbers).subscribe()
    while numbers.counts.asked.load(ordering: .relaxed) < 10 { await Task.yield() }
    subscription.dispose()
    while numbers.counts.ended.load(ordering: .relaxed) == 0 { await Task.yield() }
  }

  @Test(.timeLimit(.minutes(1)))
  func `42: a sequence that does not look whether its task is cancelled is asked for no more`() async {
    let probe = Probe<Int>()
    await withCheckedContinuation { continuation in
      _ = Observable.from(Endless { continuation.resume() }).take(1).subscribe(probe)
    }
    #expect(probe.log == ["0", "|", "."])
  }

  @Test func `the next element is asked for once onNext has returned`() async throws {
    let numbers = Numbers()
    let most = Atomic(0)
    _ = try await Observable.from(numbers).take(50)
      .do(onNext: { number in
        most.max(numbers.counts.asked.load(ordering: .relaxed) - number, ordering: .relaxed)
      })
      .toArray()
    #expect(most.load(ordering: .relaxed) == 1)
  }
}

extension Observable {
  fileprivate func toArray() async throws -> [Element] {
    var elements: [Element] = []
    for try await element in values { elements.append(element) }
    return elements
  }
}
