import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport

@testable import Stores

/// A year that passes as fast as a test can do what happens in it, by a wall clock that jumps.
final class YearClock: Sendable {
  /// The time that passes.
  let time = TestScheduler()
  private let shift = Mutable(Duration.zero)
  private let start = StoreTime(microseconds: 1_798_761_600_000_000)

  static let hour = Duration.seconds(3_600)
  static let day = hour * 24
  static let year = day * 365

  /// What stores take for the time.
  var clock: StoreClock { StoreClock(scheduler: time) { [self] in wall } }

  /// What the wall clock reads: 2027 begins with the year.
  var wall: StoreTime { start + time.now + shift.value }

  private let jumps = Mutable<[(at: Duration, by: Duration)]>([])

  private func jump(by duration: Duration) {
    shift.update { $0 += duration }
    jumps.update { $0.append((time.now, duration)) }
  }

  /// By how much the clock was set back since a time.
  func setBack(since time: Duration) -> Duration {
    jumps.value.filter { $0.at >= time && $0.by < .zero }.reduce(.zero) { $0 - $1.by }
  }

  /// The jumps of the year: a clock that was wrong for a day, one that is corrected by a quarter of an hour, one that was a
  /// month ahead, and a journey.
  private static let jumps: [Int: Duration] = [
    60: day * -1, 61: day, 150: hour * -0.25, 200: day * 30, 230: day * -30, 300: hour * 5,
  ]

  func jumpIfDue(on day: Int) { if let jump = Self.jumps[day] { self.jump(by: jump) } }

  /// What the server gives now.
  func value(_ account: String, _ key: String) -> YearValue {
    YearValue(account: account, key: key, asOf: time.now / .seconds(1), dated: wall)
  }

  /// What is wrong with a value that may be of a certain age at most, or with what is said of its age. Where the clock was set
  /// back since, it seems younger.
  func fault(in snapshot: Snapshot<YearValue>, _ value: YearValue, _ limit: Duration) -> String? {
    let age = time.now - .seconds(value.asOf)
    if age > limit + setBack(since: .seconds(value.asOf)) { return "\(age) old" }
    let dated = max(wall - value.dated, .zero)
    return snapshot.age == dated ? nil : "said to be \(snapshot.age) old, and is \(dated) by its date"
  }
}

/// What the server of the simulated year gives: whose it is, and when it was made.
struct YearValue: Codable, Hashable, Sendable {
  var account: String
  var key: String
  /// The seconds of the year that had passed.
  var asOf: Double
  /// The wall clock then.
  var dated: StoreTime
}

/// Something that is polled all year.
final class Polled: Sendable {
  /// The second of the year in which the latest value was made that was shown.
  private let asOf = Monitor(0.0)
  private let bag = DisposeBag()

  init<Value>(_ stream: Observable<Snapshot<Value>>, asOf: @escaping @Sendable (Value) -> Double?) {
    stream.compactMap { $0.value.flatMap(asOf) }
      .subscribe(onNext: { [monitor = self.asOf] second in monitor.update { $0 = second } }).disposed(by: bag)
  }

  func dispose() { bag.dispose() }

  /// What is wrong if the value may be of a certain age at most, but for what the clock was set back since.
  func fault(_ clock: YearClock, _ limit: Duration) async -> String? {
    let isYoung = { @Sendable (second: Double) in
      clock.time.now - .seconds(second) <= limit + clock.setBack(since: .seconds(second))
    }
    if isYoung(asOf.value) { return nil }
    // Hours pass here while a thread that shows a value waits for a processor.
    if (try? await asOf.wait(within: .seconds(10), until: isYoung)) != nil { return nil }
    return "what is polled is \(clock.time.now - .seconds(asOf.value)) old"
  }
}
