import Synchronization

/// A place in a text: a line and a column, as people and editors count them.
public struct SourceLocation: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The line, from 1. Lines end with `\n`, `\r\n` or `\r` (GraphQL specification, section 2.1.2).
  public let line: Int

  /// The column, from 1, in UTF-16 code units, which is how graphql-js and most editors count.
  public let column: Int

  /// Makes a location.
  public init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }

  /// `LINE:COLUMN`.
  public var description: String { "\(line):\(column)" }

  /// Whether a place comes before another.
  public static func < (left: SourceLocation, right: SourceLocation) -> Bool {
    (left.line, left.column) < (right.line, right.column)
  }
}

/// Where each line of a text begins. It is made when the first location is asked for.
final class LineTable: Sendable {
  private let starts: [UInt32]

  init(_ source: [UInt8], count: Int) {
    var starts: [UInt32] = [0]
    for index in 0..<count {
      switch source[index] {
      case UInt8(ascii: "\n"): starts.append(UInt32(index + 1))
      case UInt8(ascii: "\r") where index + 1 == count || source[index + 1] != UInt8(ascii: "\n"):
        starts.append(UInt32(index + 1))
      default: break
      }
    }
    self.starts = starts
  }

  func location(of offset: Int, in source: [UInt8]) -> SourceLocation {
    var low = 0
    var high = starts.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if starts[middle] <= offset { low = middle } else { high = middle }
    }
    var column = 1
    for byte in source[Int(starts[low])..<offset] {
      // A continuation byte counts for nothing, and a scalar of four bytes has two UTF-16 code units.
      if byte & 0xC0 != 0x80 { column += byte >= 0xF0 ? 2 : 1 }
    }
    return SourceLocation(line: low + 1, column: column)
  }
}
