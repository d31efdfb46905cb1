import Streams
import Synchronization
import Testing

@testable import TimelineServer

@Suite final class SharedUpdatesTests: Sendable {
  private let shared = SharedUpdates<String, Int>()
  private let connections = Mutex<[Int]>([])

  /// The stream of one key, which connects as this number.
  private func stream(_ number: Int) -> Observable<Int> {
    shared.stream("moments") { [self] in
      connections.withLock { $0.append(number) }
      return .merge(.just(number), .never())
    }
  }

  @Test func `those who follow the same share what the first one connects`() {
    let values = Mutex<[Int]>([])
    let followers = [1, 2].map { number in
      stream(number).subscribe(onNext: { value in values.withLock { $0.append(value) } })
    }
    #expect(values.withLock { $0 } == [1, 1])
    for follower in followers { follower.dispose() }
    stream(3).subscribe(onNext: { _ in }).dispose()
    #expect(connections.withLock { $0 } == [1, 3])
  }

  @Test func `a stream that nobody subscribed to keeps nothing`() {
    _ = stream(1)
    stream(2).subscribe(onNext: { _ in }).dispose()
    #expect(connections.withLock { $0 } == [2])
  }

  @Test func `a late subscriber does not part those who share`() {
    let late = stream(1)
    stream(2).subscribe(onNext: { _ in }).dispose()
    let follower = stream(3).subscribe(onNext: { _ in })
    late.subscribe(onNext: { _ in }).dispose()
    let another = stream(4).subscribe(onNext: { _ in })
    #expect(connections.withLock { $0 } == [2, 3])
    follower.dispose()
    another.dispose()
  }

  @Test func `streams and those who follow them are counted until they leave`() {
    let moments = [1, 2].map { stream($0).subscribe(onNext: { _ in }) }
    let friends = shared.stream("friends") { .never() }.subscribe(onNext: { _ in })
    _ = stream(3)
    #expect(shared.counts == (2, 3))
    for follower in moments { follower.dispose() }
    #expect(shared.counts == (1, 1))
    friends.dispose()
    #expect(shared.counts == (0, 0))
    shared.stream("photos") { .empty() }.subscribe(onNext: { _ in }).dispose()
    #expect(shared.counts == (0, 0))
  }
}
