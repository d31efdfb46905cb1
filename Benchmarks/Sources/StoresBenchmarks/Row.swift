/// One line of the table: the same work done by several libraries.
struct Row {
  /// Does one operation, and returns something of the result, so that the compiler can leave nothing out.
  typealias Work = (_ index: Int) throws -> Int

  let name: String
  /// How many operations one run does.
  let count: Int
  /// In the order of ``Row/libraries``; nil if a library has no equivalent.
  let works: [Work?]
  /// Whether to measure processor time, in which other load on the machine does not show, rather than wall-clock time.
  var isInMemory = false
  /// How many allocations an operation of the first library may make.
  var allocationCeiling: Double?
  /// How many times longer than another library the first one may take, by that library's name.
  var ceilings: [String: Double] = [:]

  static let libraries = ["Store", "lock, dictionary", "NSCache", "plain file", "GRDB"]
}
