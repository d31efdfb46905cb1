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

/// Whether a sanitizer, with memory of its own, is in this process.
let isSanitized = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
