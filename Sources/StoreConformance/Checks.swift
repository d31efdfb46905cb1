import Dispatch
import Stores
import Streams
import SystemBase

/// The failures of one case, which several threads may report.
final class Failures: Sendable {
  private let found = Locked<[String]>([])

  var lines: [String] { found.withLock { $0 } }

  /// Keeps only the first ones, since threads may report thousands.
  func add(_ line: String) {
    found.withLock { if $0.count < 20 { $0.append(line) } }
  }

  /// Runs a body; an error that it throws is a failure.
  func note(_ body: () throws -> Void) {
    do { try body() } catch { add("an error: \(error)") }
  }

  func expect(_ condition: Bool, _ expectation: @autoclosure () -> String) {
    if !condition { add(expectation()) }
  }

  func expect<Found: Equatable>(_ found: Found, is wanted: Found, _ what: @autoclosure () -> String) {
    expect(found == wanted, Self.difference(what(), found, wanted))
  }

  /// Expects two stored values to be equal, by bytes: texts may be equal although their bytes are not, and then the
  /// text is not the one that was written.
  func expect(
    _ found: StoredValue<String>?, is wanted: StoredValue<String>?, _ what: @autoclosure () -> String
  ) {
    let isOfSameBytes = found.map { Array($0.value.utf8) } == wanted.map { Array($0.value.utf8) }
    expect(found == wanted && isOfSameBytes, Self.difference(what(), found, wanted))
  }

  private static func difference<Found>(_ what: String, _ found: Found, _ wanted: Found) -> String {
    "\(what) is \(String(reflecting: found).prefix(200)), not \(String(reflecting: wanted).prefix(200))"
  }
}

/// A value with a plausible write time, and a version.
func stored(
  _ value: String, at seconds: Int64 = 1_700_000_000, isInvalidated: Bool = false,
  _ version: EntryVersion = .first
) -> StoredValue<String> {
  StoredValue(
    value, writtenAt: StoreTime(microseconds: seconds * 1_000_000 + 7), isInvalidated: isInvalidated, version: version)
}

extension EntryVersion {
  /// That of values for which it does not matter.
  static let first = EntryVersion(time: 1, writer: 1)
}

private let lastTime = Locked<Int64>(1_700_000_000_000_000)

/// A version that is greater than all before.
func later(by writer: UInt64 = 7) -> EntryVersion {
  let time = lastTime.withLock { time in
    time += 1
    return time
  }
  return EntryVersion(time: time, writer: writer)
}

/// Runs a body repeatedly on several threads, which begin together and continue until each has finished its rounds, so
/// that all of them overlap, even on one core. Returns when all have finished.
func onThreads(
  _ count: Int, rounds: Int, _ body: @escaping @Sendable (_ thread: Int, _ round: Int) -> Void
) throws {
  let (ready, done, start) = (DispatchGroup(), DispatchGroup(), DispatchSemaphore(value: 0))
  let unfinished = Locked(count)
  for thread in 0..<count {
    ready.enter()
    done.enter()
    try startThread(named: "StoreCheck") {
      ready.leave()
      start.wait()
      var round = 0
      while round < rounds || unfinished.withLock({ $0 > 0 }) {
        body(thread, round)
        round += 1
        if round == rounds { unfinished.withLock { $0 -= 1 } }
      }
      done.leave()
    }
  }
  ready.wait()
  for _ in 0..<count { start.signal() }
  done.wait()
}
