/// Finds the paths to places in a text that is well-formed up to the place.
///
/// Readers keep no path: only an error looks it up, so success pays nothing. A search continues where the one before it
/// ended, so that all errors of one text, each further on and most of them caught, take one pass together. One that is
/// before that place, as where a fragment is tried after another, begins with the array or object around it.
@usableFromInline
final class JSONPath {
  private struct Level {
    let isObject: Bool
    /// Where its opening bracket is.
    let start: Int
    var index = 0
    var key: Range<Int>?
    var expectsKey: Bool
  }

  private let bytes: UnsafeBufferPointer<UInt8>
  /// The arrays and objects that are open at `position`, which is never inside a string.
  private var levels: [Level] = []
  private var position = 0

  /// Takes the text, which must stay in place as long as paths are read.
  init(of bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
  }

  /// The path to the value that contains a byte, that is directly before it, or that is missing there. `isOfContainer`
  /// asks for the array or object instead whose closing bracket the byte is.
  func path(to offset: Int, isOfContainer: Bool = false) -> [JSONError.PathElement] {
    if offset < position { goBack(before: offset) }
    advance(to: offset)
    let endsLevel =
      isOfContainer && offset < bytes.count
      && (bytes[offset] == UInt8(ascii: "}") || bytes[offset] == UInt8(ascii: "]"))
    return levels.dropLast(endsLevel ? 1 : 0).compactMap { level in
      level.isObject ? level.key.map { .key(Self.key(UnsafeBufferPointer(rebasing: bytes[$0]))) } : .index(level.index)
    }
  }

  /// The number of commas directly inside an array or object, which is given without its closing bracket.
  static func commas(in bytes: UnsafeBufferPointer<UInt8>) -> Int {
    let search = JSONPath(of: bytes)
    search.advance(to: bytes.count)
    return search.levels.first?.index ?? 0
  }

  /// Moves to the beginning of the innermost array or object that is open at `position` and was at an offset before it.
  private func goBack(before offset: Int) {
    while let last = levels.last, last.start >= offset { levels.removeLast() }
    guard let last = levels.popLast() else {
      position = 0
      return
    }
    position = last.start
    open(isObject: last.isObject)
    position += 1
  }

  private func open(isObject: Bool) {
    levels.append(Level(isObject: isObject, start: position, expectsKey: isObject))
  }

  /// Moves on to an offset, or to the opening quote of the string that contains it.
  private func advance(to offset: Int) {
    while position < offset {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        let first = position + 1
        let end = endOfString(from: first, before: offset)
        guard end < offset else { return }
        position = end
        if let last = levels.indices.last, levels[last].expectsKey { levels[last].key = first..<end }
      case UInt8(ascii: ":"): levels.mutateLast { $0.expectsKey = false }
      case UInt8(ascii: "{"): open(isObject: true)
      case UInt8(ascii: "["): open(isObject: false)
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
  }

  /// The offset of the closing quote, or the limit.
  private func endOfString(from first: Int, before limit: Int) -> Int {
    var place = first
    while place < limit, bytes[place] != UInt8(ascii: "\"") {
      place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
    }
    return min(place, limit)
  }

  /// A key as it appears in paths, from its checked bytes; of a long key only the start is read.
  static func key(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    guard let start = bytes.baseAddress else { return "" }
    // No byte of the string takes more than the six bytes of an escape.
    let count = Escapes.wholeCharacters(from: start, count: bytes.count, atLeast: 6 * (String.greatestPathKey + 1))
    return Escapes.string(from: start, count: count).asPathKey
  }
}

extension String {
  fileprivate static let greatestPathKey = 64

  /// The key as it appears in paths: its first 64 bytes.
  var asPathKey: String { prefix(bytes: Self.greatestPathKey) }
}

extension Array {
  fileprivate mutating func mutateLast(_ body: (inout Element) -> Void) {
    guard let last = indices.last else { return }
    body(&self[last])
  }
}
