/// One line of the table: the same work done by several libraries.
struct Row: Sendable {
  /// Does the work `count` times, and returns a checksum.
  typealias Work = @Sendable (_ count: Int) async -> Int

  let name: String
  /// How many operations one run does.
  let count: Int
  /// In the order of ``Row/libraries``; nil if a library has no equivalent.
  let works: [Work?]
  /// How many times faster than OpenCombine it must be, and should be.
  var floor: Double?
  var aim: Double?
  /// How many times slower than a plain closure chain it may be, and should be.
  var closureFloor: Double?
  var closureAim: Double?
  /// How many allocations one operation may make, and should make.
  var allocationFloor: Double?
  var allocationAim: Double?

  static let libraries = ["Streams", "OpenCombine", "AsyncStream", "closures"]
}
