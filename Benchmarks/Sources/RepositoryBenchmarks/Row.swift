/// One line of the table: the same work done by several libraries.
struct Row {
  /// Does one operation, and gives something of what it found, so that nothing is left out.
  typealias Work = (_ index: Int) throws -> Int

  let name: String
  /// How many operations one run does.
  let count: Int
  /// In the order of ``Row/libraries``; nil where a library has nothing like it.
  let works: [Work?]
  /// How many times the first library's time may be that of another one, by its name.
  var ceilings: [String: Double] = [:]

  static let libraries = ["Store", "lock, dictionary", "NSCache", "plain file", "GRDB"]
}
