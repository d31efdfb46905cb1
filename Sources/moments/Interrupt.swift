import Dispatch
import Foundation

/// Turns the first Ctrl-C into a call; the next one ends the process as it always does.
struct Interrupt {
  private let source: any DispatchSourceSignal

  /// Watches from now on; calls the handler once at most, on a global queue.
  init(handler: @escaping @Sendable () -> Void) {
    // A signal that is not ignored would end the process before its source hears of it.
    signal(SIGINT, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
    source.setEventHandler {
      source.cancel()
      handler()
    }
    source.setCancelHandler { signal(SIGINT, SIG_DFL) }
    source.activate()
    self.source = source
  }

  /// Stops watching: from now on Ctrl-C ends the process.
  func stop() {
    source.cancel()
  }
}
