/// Finds the path to a place in a text that is well-formed up to there.
///
/// Readers keep no path: who fails looks it up, and who does not fail pays nothing.
enum JSONPath {
  private struct Level {
    let isObject: Bool
    var index = 0
    var key: Range<Int>?
    var expectsKey: Bool
  }

  private static let keyLimit = 64

  /// The path to the value, or the array or object, that a byte belongs to.
  static func path(to offset: Int, in bytes: UnsafeBufferPointer<UInt8>) -> [JSONError.PathElement] {
    var levels: [Level] = []
    var position = 0
    while position < offset {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        let first = position + 1
        position = endOfText(from: first, before: offset, in: bytes)
        if let last = levels.indices.last, levels[last].expectsKey, position < offset {
          levels[last].key = first..<position
        }
      case UInt8(ascii: ":"): levels.mutateLast { $0.expectsKey = false }
      case UInt8(ascii: "{"): levels.append(Level(isObject: true, expectsKey: true))
      case UInt8(ascii: "["): levels.append(Level(isObject: false, expectsKey: false))
      case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = levels.popLast()
      case UInt8(ascii: ","):
        levels.mutateLast {
          $0.index += 1
          $0.key = nil
          $0.expectsKey = $0.isObject
        }
      default: break
      }
      position += 1
    }
    // The end of an array or object belongs to itself, not to its last element.
    if offset < bytes.count, bytes[offset] == UInt8(ascii: "}") || bytes[offset] == UInt8(ascii: "]") {
      _ = levels.popLast()
    }
    return levels.compactMap { level in
      level.isObject ? level.key.map { .key(text(of: $0, in: bytes)) } : .index(level.index)
    }
  }

  /// The place of the closing quote, or the limit.
  private static func endOfText(from first: Int, before limit: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Int {
    var position = first
    while position < limit, bytes[position] != UInt8(ascii: "\"") {
      position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
    }
    return min(position, limit)
  }

  private static func text(of range: Range<Int>, in bytes: UnsafeBufferPointer<UInt8>) -> String {
    let key = UnsafeBufferPointer(rebasing: bytes[range])
    guard let start = key.baseAddress else { return "" }
    let text = Escapes.string(from: start, count: key.count)
    guard text.utf8.count > keyLimit else { return text }
    return String(decoding: text.utf8.prefix(keyLimit), as: UTF8.self) + "…"
  }
}

extension Array {
  fileprivate mutating func mutateLast(_ body: (inout Element) -> Void) {
    guard let last = indices.last else { return }
    body(&self[last])
  }
}
