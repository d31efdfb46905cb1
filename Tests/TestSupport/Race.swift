import Foundation
import LoopbackServers

/// Runs a body on several threads of their own that begin together, and waits until all are done.
///
/// - Throws: `TimedOut` when they are not after five minutes, as where they wait for each other.
package func race(
  _ count: Int = 8, file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (Int) -> Void
) throws {
  let (ready, start, done) = (DispatchGroup(), DispatchSemaphore(value: 0), DispatchGroup())
  for index in 0..<count {
    ready.enter()
    done.enter()
    Thread.detachNewThread {
      ready.leave()
      start.wait()
      body(index)
      done.leave()
    }
  }
  ready.wait()
  for _ in 0..<count { start.signal() }
  guard done.wait(timeout: .now() + 300) == .success else {
    throw TimedOut(
      what: "\(count) threads", limit: .seconds(300), state: "not all are done", location: "\(file):\(line)")
  }
}

/// How much the tests are to do, for those whose worth grows with the count: races, random cuts and cancellations.
package enum TestScale {
  /// Whether the full counts are asked for, by `Scripts/test --long` or `MOMENTS_TEST_SCALE=long`.
  package static let isLong = ProcessInfo.processInfo.environment["MOMENTS_TEST_SCALE"] == "long"

  /// The count for this run.
  package static func count(_ usual: Int, long: Int) -> Int {
    isLong ? long : usual
  }
}

/// Random numbers that a seed repeats (SplitMix64).
package struct SplitMix: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
