extension String {
  /// How many combining characters may follow each other in a name: 30, by Unicode's Stream-Safe Text Format (UAX #15,
  /// section 13), more than any language needs.
  static var combiningLimit: Int { 30 }

  static var expectedOfNames: String { "at most \(combiningLimit) combining characters in a row" }

  static var expectedOfKeys: String { "a key with \(expectedOfNames)" }

  /// Whether the string can be compared, hashed and sorted in linear time, as a name has to be: a key, an identifier, the
  /// value of an enum.
  ///
  /// Swift compares strings by canonical equivalence. For that it puts combining characters that follow each other in
  /// order, in quadratic time: with 400 KB of them, hashing a string once takes half a minute.
  package var isName: Bool {
    // None of these characters takes fewer than two bytes.
    @inline(__always) get { utf8.count <= 2 * Self.combiningLimit || isLongName }
  }

  @inline(never)
  private var isLongName: Bool {
    var count = 0
    for scalar in unicodeScalars {
      count = scalar.isCombining ? count + 1 : 0
      if count > Self.combiningLimit { return false }
    }
    return true
  }

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

extension Unicode.Scalar {
  /// Whether it is a mark by its general category. Only marks have combining classes (Unicode's stability policy).
  fileprivate var isCombining: Bool {
    guard value >= 0x300 else { return false }
    switch properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: return true
    default: return false
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
