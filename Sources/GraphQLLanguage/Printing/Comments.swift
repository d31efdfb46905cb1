/// The comments of a text, in order, and how many of them have been printed.
struct Comments {
  struct Comment {
    /// Its bytes, without the end of the line and white space before it.
    let range: Range<Int>
    let followsBlankLine: Bool
    let precedesBlankLine: Bool
    /// Whether something else is before it on its line.
    let endsLine: Bool
  }

  private var all: [Comment] = []
  private var printed = 0

  /// No comments.
  init() {}

  /// The comments in a node.
  init(of node: SyntaxNode) {
    let source = node.tree.source
    let ranges = source.withUnsafeBufferPointer { buffer in
      buffer.baseAddress.map { Lexer.comments(in: $0, count: buffer.count - 1) } ?? []
    }
    all = ranges.filter { node.kind == .document || node.range.contains($0.lowerBound) }.map { range in
      var start = range.lowerBound
      while start > 0, source[start - 1].isIgnored { start -= 1 }
      let linesBefore = source[start..<range.lowerBound].lineEnds
      let after = source[range.upperBound...].prefix { $0.isIgnored }
      return Comment(
        range: range, followsBlankLine: start > 0 && linesBefore > 1, precedesBlankLine: after.lineEnds > 1,
        endsLine: start > 0 && linesBefore == 0)
    }
  }

  /// Whether one that is not printed yet is in a node.
  func isInside(_ node: SyntaxNode) -> Bool {
    var low = printed
    var high = all.count
    while low < high {
      let middle = (low + high) / 2
      if all[middle].range.lowerBound < node.range.lowerBound { low = middle + 1 } else { high = middle }
    }
    return low < all.count && all[low].range.lowerBound < node.range.upperBound
  }

  /// The next one, if it is before an offset.
  mutating func next(before offset: Int) -> Comment? {
    guard printed < all.count, all[printed].range.lowerBound < offset else { return nil }
    printed += 1
    return all[printed - 1]
  }

  /// The next one, if it ends the line on which what ends at an offset stands.
  mutating func nextOnSameLine(after offset: Int, in source: [UInt8]) -> Comment? {
    guard printed < all.count, all[printed].endsLine, all[printed].range.lowerBound >= offset,
      source[offset..<all[printed].range.lowerBound].allSatisfy({ $0.isIgnored })
    else { return nil }
    printed += 1
    return all[printed - 1]
  }
}

extension UInt8 {
  fileprivate var isIgnored: Bool {
    self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") || self == UInt8(ascii: ",") || isLineEnd
  }

  fileprivate var isLineEnd: Bool { self == UInt8(ascii: "\n") || self == UInt8(ascii: "\r") }
}
