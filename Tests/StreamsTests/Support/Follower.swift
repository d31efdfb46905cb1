import Streams
import Testing

/// One entry of the compliance suite: an operator that lets a second stream follow the first.
struct Follower: Sendable, CustomTestStringConvertible {
  /// When the first source ends: before `create`'s closure has returned its teardown, or after that.
  enum End: CaseIterable { case atOnce, onAnotherThreadMeanwhile, later }

  let name: String
  /// Whether the second stream follows the first one's error, rather than its completion.
  let followsErrors: Bool
  let build: @Sendable (Observable<Int>, Observable<Int>) -> Observable<Int>

  init(
    _ name: String, followsErrors: Bool = false,
    build: @escaping @Sendable (Observable<Int>, Observable<Int>) -> Observable<Int>
  ) {
    self.name = name
    self.followsErrors = followsErrors
    self.build = build
  }

  var testDescription: String { name }

  static let all = [
    Follower("catch", followsErrors: true) { first, second in first.catch { _ in second } },
    Follower("catch, behind operators", followsErrors: true) { first, second in
      first.map { $0 }.do(onError: { throw $0 }).catch { _ in second }
    },
    Follower("catch, of what was caught", followsErrors: true) { first, second in
      first.catch { .error($0) }.catch { throw $0 }.catch { _ in second }
    },
    Follower("retry", followsErrors: true) { first, second in oneByOne(first, second).retry(2) },
    Follower("retry, when", followsErrors: true) { first, second in
      oneByOne(first, second).retry(when: RetryPolicy { _, _ in .seconds(1) }, scheduler: Hasty())
    },
    Follower("handled", followsErrors: true) { first, second in
      .handled { PassingHandler(first: first, afterError: second) }
    },
    Follower("handled, after completion") { first, second in
      .handled { PassingHandler(first: first, afterCompletion: second) }
    },
    Follower("concat") { first, second in first.concat(second) },
    Follower("concat, of many") { first, second in .concat(.empty(), first, .empty(), second, .empty()) },
    Follower("concatMap") { first, second in Observable.from([first, second]).concatMap { $0 } },
    Follower("flatMapLatest") { first, second in Observable.from([first, second]).flatMapLatest { $0 } },
  ]

  /// The first stream for the first subscriber, the second for all others.
  private static func oneByOne(_ first: Observable<Int>, _ second: Observable<Int>) -> Observable<Int> {
    let runs = Counter()
    return .deferred {
      runs.increment()
      return runs.count == 1 ? first : second
    }
  }
}
