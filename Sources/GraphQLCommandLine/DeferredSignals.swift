import Synchronization
import SystemBase

/// The signals by which people and systems end a process, held back while it must not end in the middle.
package enum DeferredSignals {
  /// The last one that came; 0 for none.
  private static let held = Atomic<Int32>(0)

  /// Calls a closure. A signal that comes meanwhile ends the process after it, and one that the parent process has set to
  /// be ignored still is. Only one call may be running.
  package static func during<Result, E: Error>(_ body: () throws(E) -> Result) throws(E) -> Result {
    // Before a handler reads it, which must not be the first to do so.
    held.store(0, ordering: .relaxed)
    // A mask would keep them from this thread alone, and the system would choose another one.
    let numbers = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].filter { number in
      // A process starts with either the default, which is returned as `nil`, or ignoring.
      let wasIgnored = signal(number, { DeferredSignals.held.store($0, ordering: .relaxed) }) != nil
      if wasIgnored { signal(number, SIG_IGN) }
      return !wasIgnored
    }
    func stopHolding() { for number in numbers { signal(number, SIG_DFL) } }
    do throws(E) {
      let result = try body()
      stopHolding()
      let number = held.load(ordering: .relaxed)
      if number != 0 { end(by: number) }
      return result
    } catch {
      // The process ends in any case, and says first what has become of its files.
      stopHolding()
      throw error
    }
  }

  private static func end(by number: Int32) {
    // A thread of Dispatch blocks signals, and may be this one.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, number)
    pthread_sigmask(Int32(SIG_UNBLOCK), &signals, nil)
    raise(number)
  }
}
