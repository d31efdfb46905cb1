import Foundation

#if DEBUG
  /// The smallest stack that the SDK promises to need: half a mebibyte in a debug build.
  public let smallStackSize = 512 << 10
#else
  /// The smallest stack that the SDK promises to need: that of musl's threads.
  public let smallStackSize = 128 << 10
#endif

/// Runs a closure on a thread that has the smallest stack that the SDK promises to need.
public func onSmallStack<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    let thread = Thread { continuation.resume(with: Swift.Result { try body() }) }
    thread.stackSize = smallStackSize
    thread.start()
  }
}
