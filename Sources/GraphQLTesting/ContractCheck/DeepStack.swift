import Dispatch
import SystemBase

/// Runs a closure on a thread whose stack has room for decoders, which recurse as deep as a response nests, whatever the
/// caller's stack is; and waits for it.
func onDeepStack<Result>(_ body: () -> Result) -> Result {
  withoutActuallyEscaping(body) { body in
    let (call, done) = (Call(body), DispatchSemaphore(value: 0))
    do throws(SystemError) {
      try startThread(named: "contract check", stackSize: 16 << 20) {
        call.run()
        done.signal()
      }
      done.wait()
    } catch {
      // The system has no other thread: the caller's must do.
      call.run()
    }
    return call.result ?? body()
  }
}

/// `@unchecked Sendable`: one thread at a time uses it: the new one until it signals, and then the one that has waited.
private final class Call<Result>: @unchecked Sendable {
  private var body: (() -> Result)?
  private(set) var result: Result?

  init(_ body: @escaping () -> Result) {
    self.body = body
  }

  func run() {
    result = body?()
    body = nil
  }
}
