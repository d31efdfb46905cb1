/// The names most like one that is unknown, for "did you mean".
package enum Suggestions {
  /// The names that differ from `name` by few letters, the nearest first.
  ///
  /// The distance is the number of letters that are inserted, deleted, replaced or swapped (optimal string alignment);
  /// upper and lower case count as one change in all. A name is near if that is at most two fifths of its length, and one.
  package static func nearest(to name: String, among names: some Sequence<String>) -> [String] {
    let wanted = Name(Array(name.utf8.prefix(longest)))
    let limit = wanted.bytes.count * 2 / 5 + 1
    var near: [(name: String, distance: Int)] = []
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 3 * (longest + 1)) { rows in
      for var candidate in names {
        let count = candidate.utf8.count
        guard count <= longest, abs(count - wanted.bytes.count) <= limit else { continue }
        let distance = candidate.withUTF8 { wanted.distance(to: $0, limit: limit, rows) }
        if let distance { near.append((candidate, distance)) }
      }
    }
    near.sort { ($0.distance, $0.name) < ($1.distance, $1.name) }
    return near.map(\.name)
  }

  /// ` Did you mean a, b or c?` with at most five names in quotes, or nothing.
  package static func question(_ names: some Collection<String>, after intro: String = "") -> String {
    let quoted = names.prefix(5).map { "\"\($0)\"" }
    guard let last = quoted.last else { return "" }
    let list = quoted.count == 1 ? last : quoted.dropLast().joined(separator: ", ") + " or " + last
    return " Did you mean \(intro)\(list)?"
  }

  /// Longer names are not compared: the time for one comparison grows with the product of their lengths.
  private static let longest = 128

  private struct Name {
    let bytes: [UInt8]
    /// The bytes in lower case.
    private let folded: [UInt8]
    private let letters: UInt64

    init(_ bytes: [UInt8]) {
      self.bytes = bytes
      folded = bytes.map(Self.lowercased)
      letters = folded.reduce(0) { $0 | Self.letter($1) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
      (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    /// A bit for a letter; some share one.
    private static func letter(_ byte: UInt8) -> UInt64 { 1 << UInt64(byte & 63) }

    /// - Parameter rows: Room for three rows of the table of distances.
    func distance(
      to other: UnsafeBufferPointer<UInt8>, limit: Int, _ rows: UnsafeMutableBufferPointer<Int>
    ) -> Int? {
      if bytes.elementsEqual(other) { return 0 }
      // Each letter that one of them lacks takes a change.
      let others = other.reduce(0) { $0 | Self.letter(Self.lowercased($1)) }
      if max((letters & ~others).nonzeroBitCount, (others & ~letters).nonzeroBitCount) > limit { return nil }
      if folded.elementsEqual(other.lazy.map(Self.lowercased)) { return 1 }
      let width = other.count + 1
      var (beforeLast, last, row) = (0, width, 2 * width)
      for column in 0..<width { rows[last + column] = column }
      for i in 1..<(folded.count + 1) {
        rows[row] = i
        var least = i
        for j in 1..<width {
          let letter = Self.lowercased(other[j - 1])
          var best = min(rows[last + j] + 1, rows[row + j - 1] + 1)
          best = min(best, rows[last + j - 1] + (folded[i - 1] == letter ? 0 : 1))
          if i > 1, j > 1, folded[i - 1] == Self.lowercased(other[j - 2]), folded[i - 2] == letter {
            best = min(best, rows[beforeLast + j - 2] + 1)
          }
          rows[row + j] = best
          least = min(least, best)
        }
        if least > limit { return nil }
        (beforeLast, last, row) = (last, row, beforeLast)
      }
      return rows[last + width - 1] <= limit ? rows[last + width - 1] : nil
    }
  }
}

extension Schema {
  /// The names most like one that is unknown, the nearest first, for a message that asks what is meant.
  public func namesLike(_ name: String, among names: some Sequence<String>) -> [String] {
    Suggestions.nearest(to: name, among: names)
  }
}
