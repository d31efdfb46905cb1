import Dispatch
import Foundation

/// A stack on which 128 levels of usual types are read and written: musl's, and in debug builds one that is four times as
/// large.
enum SmallStack {
  #if DEBUG
    static let size = 512 << 10
  #else
    static let size = 128 << 10
  #endif

  /// Runs a closure on a thread with such a stack, or one of another size.
  static func run<Value: Sendable>(
    size: Int = size, _ body: @escaping @Sendable () throws -> Value
  ) throws -> Value {
    let outcome = Outcome<Value>()
    let thread = Thread {
      outcome.result = Result { try body() }
      outcome.isThere.signal()
    }
    thread.stackSize = size
    thread.start()
    outcome.isThere.wait()
    guard let result = outcome.result else { throw CancellationError() }
    return try result.get()
  }

  /// `@unchecked Sendable`: the thread writes before it signals, and the caller reads after that.
  private final class Outcome<Value>: @unchecked Sendable {
    var result: Result<Value, any Error>?
    let isThere = DispatchSemaphore(value: 0)
  }
}
