import Foundation
import Streams

/// A value under an `NSLock`, which the thread sanitizer understands.
final class Locked<Value>: @unchecked Sendable {
  // Touched only while `lock` is held.
  private var value: Value
  private let lock = NSLock()

  init(_ value: Value) { self.value = value }

  func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try lock.withLock { try body(&value) }
  }
}

/// A handle that is known only after `subscribe` returned, for a handler that disposes it.
final class Handle: Sendable {
  private let disposable = Locked<(any Disposable)?>(nil)

  func set(_ disposable: any Disposable) { self.disposable.withLock { $0 = disposable } }

  func dispose() { disposable.withLock { $0 }?.dispose() }
}

/// Counts.
final class Counter: Sendable {
  private let value = Locked(0)
  var count: Int { value.withLock { $0 } }
  func increment() { value.withLock { $0 += 1 } }
  func decrement() { value.withLock { $0 -= 1 } }
}

/// Something whose release can be seen.
final class Token: Sendable {
  private let onDeinit: @Sendable () -> Void

  init(onDeinit: @escaping @Sendable () -> Void = {}) { self.onDeinit = onDeinit }

  deinit { onDeinit() }

  func touch() {}
}

/// The bytes of memory that this process has resident.
func residentBytes() throws -> Int {
  let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
  return (Int(fields[1]) ?? 0) * 4096
}

/// Whether a sanitizer, with memory of its own, is in this process.
let isSanitized = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
