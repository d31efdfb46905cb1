import StrictJSON
import TestSupport

/// Makes random JSON values and damaged JSON texts.
struct RandomJSON {
  var generator: SplitMix

  init(seed: UInt64) {
    generator = SplitMix(seed: seed)
  }

  mutating func int(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &generator) }

  mutating func value(depth: Int = 4) -> JSONValue {
    switch int(0...(depth > 0 ? 9 : 6)) {
    case 0: .null
    case 1: .bool(int(0...1) == 0)
    case 2: .integer(integer())
    case 3: .number(double())
    case 4, 5, 6: .string(text())
    case 7: .array((0..<int(0...4)).map { _ in value(depth: depth - 1) })
    default: .object(Dictionary((0..<int(0...4)).map { _ in (text(), value(depth: depth - 1)) }) { $1 })
    }
  }

  mutating func integer() -> Int64 {
    Int64.random(in: .min ... .max, using: &generator) >> int(0...63)
  }

  /// A number with a fraction: one without is written and read as an integer.
  mutating func double() -> Double {
    while true {
      let value = int(0...1) == 0 ? Double(bitPattern: generator.next()) : Double(int(-99_999...99_999)) / 64
      if value.isFinite, Int64(exactly: value) == nil { return value }
    }
  }

  mutating func text() -> String {
    let pieces = [
      "a", "id", "moments", " ", "\"", "\\", "/", "\n", "\t", "\u{8}", "\u{c}", "\r", "\u{0}", "\u{1f}", "\u{7f}", "é",
      "ß",
      "中", "文字", "\u{ffff}", "\u{d7ff}", "\u{e000}", "😀", "👩‍👩‍👧", "\u{10ffff}", "e\u{301}", "0123456789abcdef",
    ]
    return (0..<int(0...6)).reduce(into: "") { text, _ in text += pieces[int(0...(pieces.count - 1))] }
  }

  /// The bytes with one to three changes: a byte turned, taken out, doubled, or a piece of JSON put in.
  mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<int(1...3) {
      let place = int(0...max(bytes.count - 1, 0))
      switch int(0...7) {
      case 0 where !bytes.isEmpty: bytes[place] = UInt8(int(0...255))
      case 1 where !bytes.isEmpty: bytes[place] ^= 1 << UInt8(int(0...7))
      case 2 where !bytes.isEmpty: bytes.remove(at: place)
      case 3 where !bytes.isEmpty: bytes.removeSubrange(place..<min(place + int(1...8), bytes.count))
      case 4 where !bytes.isEmpty:
        let piece = bytes[place..<min(place + int(1...16), bytes.count)]
        bytes.insert(contentsOf: piece, at: int(0...bytes.count))
      default: bytes.insert(contentsOf: Self.pieces[int(0...(Self.pieces.count - 1))], at: place)
      }
    }
    return bytes
  }

  private static let pieces: [[UInt8]] =
    [
      "{", "}", "[", "]", ",", ":", "\"", "\\", " ", "\n", "\t", "0", "-", "1.0", "1e2", "1.5", "e", "E+", ".", "null",
      "true",
      "false", "nul", "NaN", "\\u", "\\ud83d", "\\ude00", "\\ud83d\\ude00", "\\u0000", "\\n", "\\/", "\\x", "\"a\":",
      "\"id\":1,",
      ",\"id\":\"twice\"", "{}", "[]", "[[[[[[[[", "]]]]]]]]", "99999999999999999999", "1e400", "-0", "0.1e-7", "é",
      "中",
      "😀", "//", "/**/", "'", "\u{feff}",
    ].map { Array($0.utf8) } + [
      [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE4, 0xB8], [0x80], [0xC3], [0x00], [0x1F],
      [0x0C],
    ]
}
