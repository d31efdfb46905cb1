import Foundation
import Synchronization

/// Measures what something takes, without the time for which the system lets threads of this process wait for their turn:
/// on a machine that is busy with others, that says nothing about what is tested.
package final class Stopwatch: Sendable {
  /// What a thread finds out that sleeps again and again, for as long as the stopwatch is there.
  private final class Witness: Sendable {
    private let state = Mutex((isOver: false, waited: Duration.zero))

    var waited: Duration { state.withLock(\.waited) }

    func end() { state.withLock { $0.isOver = true } }

    func run() {
      let (nap, slack) = (Duration.milliseconds(5), Duration.milliseconds(1))
      var latest = ContinuousClock.now
      while !state.withLock(\.isOver) {
        Thread.sleep(forTimeInterval: nap / .seconds(1))
        let now = ContinuousClock.now
        state.withLock { [latest] in $0.waited += max(.zero, now - latest - nap - slack) }
        latest = now
      }
    }
  }

  private let witness = Witness()
  private let start = ContinuousClock.now

  /// Starts it.
  package init() { Thread.detachNewThread { [witness] in witness.run() } }

  deinit { witness.end() }

  /// What it has taken until now.
  package var elapsed: Duration { ContinuousClock.now - start - witness.waited }
}
