import SystemBase

extension String {
  static var expectedOfNames: String { "at most \(combiningLimit) combining characters in a row" }

  static var expectedOfKeys: String { "a key with \(expectedOfNames)" }

  /// Whether the bytes come before those of another string, for sorting names: in linear time whatever they are.
  @usableFromInline
  func precedes(_ other: String) -> Bool {
    var (left, right) = (self, other)
    return left.withUTF8 { left in
      right.withUTF8 { right in
        guard let first = left.baseAddress, let second = right.baseAddress else { return left.count < right.count }
        let order = compareBytes(first, second, min(left.count, right.count))
        return order == 0 ? left.count < right.count : order < 0
      }
    }
  }
}

extension JSONReader {
  /// Reads a string that is compared or hashed: an identifier, for example, or the value of an enum. One with more than
  /// 30 combining characters in a row is an error, as it is in a key.
  public mutating func readName() throws(JSONError) -> String {
    _ = peek()
    let first = offset
    let name = try readString()
    guard name.isName else {
      goBack(to: first)
      throw invalid(String.expectedOfNames)
    }
    return name
  }

  /// Checks the key that was just read, of which something is not ASCII.
  @usableFromInline @inline(never)
  mutating func checkKey() throws(JSONError) {
    guard keyCount > 2 * String.combiningLimit, !key.isName else { return }
    goBack(to: keyStart - start - 1)
    throw invalid(String.expectedOfKeys)
  }
}
