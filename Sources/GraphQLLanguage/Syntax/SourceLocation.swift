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

extension Sequence<UInt8> {
  /// How many lines end in a text.
  package var lineEnds: Int {
    var (count, last) = (0, UInt8(0))
    for byte in self {
      // A carriage return and a line feed end one line together.
      if byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") && last != UInt8(ascii: "\r") { count += 1 }
      last = byte
    }
    return count
  }
}

/// Where each line of a text begins. It is made when the first location is asked for.
final class LineTable: Sendable {
  private let starts: [UInt32]
  /// How many UTF-16 code units there are before each block of the text, so that long lines need not be counted again.
  private let unitsBeforeBlock: [UInt32]

  private static let block = 1024

  init(_ source: [UInt8], count: Int) {
    var starts: [UInt32] = [0]
    var blocks: [UInt32] = []
    var units: UInt32 = 0
    for index in 0..<count {
      if index % Self.block == 0 { blocks.append(units) }
      units += Self.units(source[index])
      switch source[index] {
      case UInt8(ascii: "\n"): starts.append(UInt32(index + 1))
      case UInt8(ascii: "\r") where index + 1 == count || source[index + 1] != UInt8(ascii: "\n"):
        starts.append(UInt32(index + 1))
      default: break
      }
    }
    if count % Self.block == 0 { blocks.append(units) }
    self.starts = starts
    unitsBeforeBlock = blocks
  }

  func location(of offset: Int, in source: [UInt8]) -> SourceLocation {
    var low = 0
    var high = starts.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if starts[middle] <= offset { low = middle } else { high = middle }
    }
    let column = units(before: offset, in: source) - units(before: Int(starts[low]), in: source) + 1
    return SourceLocation(line: low + 1, column: column)
  }

  private func units(before offset: Int, in source: [UInt8]) -> Int {
    let block = offset / Self.block
    return source[block * Self.block..<offset].reduce(Int(unitsBeforeBlock[block])) { $0 + Int(Self.units($1)) }
  }

  /// A continuation byte counts for nothing, and a scalar of four bytes has two UTF-16 code units.
  private static func units(_ byte: UInt8) -> UInt32 { byte & 0xC0 == 0x80 ? 0 : byte >= 0xF0 ? 2 : 1 }
}
