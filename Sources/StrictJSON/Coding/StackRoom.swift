import SystemBase

/// Whether a thread's stack has room for one value more.
///
/// What a level of a value takes depends on its type and on the build: from half a KiB to seven. So coders count neither
/// levels nor bytes, but look at where they are on the stack.
///
/// Readers and writers each do so in a method of their own: in one that they share, of this struct, a protocol or a
/// superclass, a level takes up to a quarter more of the stack.
struct StackRoom {
  /// What is left for a value that has nothing inside, and for its errors.
  private static let reserve: UInt = 16 << 10
  /// So far from where a coder begins, nobody asks the system.
  private static let start: UInt = 16 << 10

  // The addresses between which there is room.
  private var low: UInt
  private var size: UInt

  /// Where the caller is on the stack.
  @inline(__always)
  static var here: UInt {
    var mark: UInt8 = 0
    return withUnsafeMutablePointer(to: &mark) { UInt(bitPattern: $0) }
  }

  init() {
    low = Self.here &- Self.start
    size = 2 * Self.start
  }

  /// Whether there is room at this address, as far as is known.
  @inline(__always)
  func contains(_ address: UInt) -> Bool { address &- low < size }

  /// The room of this thread's stack, if the address is on it; `nil` on a stack that the system does not know.
  static func ofThread(at address: UInt) -> StackRoom? {
    guard let stack = stackOfThread(), stack.contains(address) else { return nil }
    var room = StackRoom()
    room.low = stack.lowerBound + min(reserve, UInt(stack.count))
    room.size = stack.upperBound - room.low
    return room
  }
}
