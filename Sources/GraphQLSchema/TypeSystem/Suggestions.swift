/// The names most like one that is unknown, for "did you mean".
package enum Suggestions {
  /// The names that differ from `name` by few letters, the nearest first.
  ///
  /// The distance is the number of letters that are inserted, deleted, replaced or swapped (optimal string alignment);
  /// upper and lower case count as one change in all. A name is near if that is at most two fifths of its length, and one.
  package static func nearest(to name: String, among names: some Sequence<String>) -> [String] {
    let wanted = Array(name.utf8.prefix(longest))
    let folded = wanted.map(lowercased)
    let limit = wanted.count * 2 / 5 + 1
    var near: [(name: String, distance: Int)] = []
    for candidate in names where candidate.utf8.count <= longest {
      if let distance = distance(wanted, folded, Array(candidate.utf8), limit: limit) {
        near.append((candidate, distance))
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

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }

  private static func distance(_ wanted: [UInt8], _ folded: [UInt8], _ candidate: [UInt8], limit: Int) -> Int? {
    if wanted == candidate { return 0 }
    if abs(wanted.count - candidate.count) > limit { return nil }
    let other = candidate.map(lowercased)
    if folded == other { return 1 }
    var beforeLast: [Int] = []
    var last = Array(0...other.count)
    for i in 1..<(folded.count + 1) {
      var row = [i]
      row.reserveCapacity(last.count)
      for j in 1..<(other.count + 1) {
        let isEqual = folded[i - 1] == other[j - 1]
        var best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (isEqual ? 0 : 1))
        if i > 1, j > 1, folded[i - 1] == other[j - 2], folded[i - 2] == other[j - 1] {
          best = min(best, beforeLast[j - 2] + 1)
        }
        row.append(best)
      }
      if row.allSatisfy({ $0 > limit }) { return nil }
      (beforeLast, last) = (last, row)
    }
    return last[other.count] <= limit ? last[other.count] : nil
  }
}

extension Schema {
  /// The names most like one that is unknown, the nearest first, for a message that asks what is meant.
  public func namesLike(_ name: String, among names: some Sequence<String>) -> [String] {
    Suggestions.nearest(to: name, among: names)
  }
}
