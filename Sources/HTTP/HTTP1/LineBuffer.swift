/// Collects lines that arrive in pieces until an empty line ends them, looking at each byte once.
struct LineBuffer {
  private(set) var bytes: [UInt8] = []
  private var lineStart = 0
  private var scanned = 0

  var isEmpty: Bool { bytes.isEmpty }

  /// Appends the bytes that belong to the lines, and returns how many these are, and whether the empty line has
  /// arrived.
  mutating func append(_ input: UnsafeRawBufferPointer) -> (count: Int, isComplete: Bool) {
    let known = bytes.count
    bytes.append(contentsOf: input.bindMemory(to: UInt8.self))
    while let end = bytes.withUnsafeBytes({ $0.firstIndex(of: .lineFeed, from: scanned) }) {
      let length = end - lineStart
      let isEmptyLine = length == 0 || (length == 1 && bytes[lineStart] == .carriageReturn)
      (lineStart, scanned) = (end + 1, end + 1)
      guard isEmptyLine else { continue }
      bytes.removeSubrange((end + 1)...)
      return (end + 1 - known, true)
    }
    scanned = bytes.count
    return (input.count, false)
  }
}
