import Foundation

/// What is still to be written of a request.
struct Outbound {
  private var first: [UInt8] = []
  private var rest = Data()
  private var position = 0

  init() {}

  /// Takes the head with the start of the body, and the rest of it.
  init(_ first: [UInt8], _ rest: Data = Data()) {
    self.first = first
    self.rest = rest
  }

  var isEmpty: Bool { position == first.count + rest.count }

  /// How many bytes are written.
  var count: Int { position }

  /// Lends the next bytes, at most 1 MiB of them.
  func withNext<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    if position < first.count {
      return first.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[position...])) }
    }
    let start = rest.startIndex + position - first.count
    return rest[start...].prefix(1 << 20).withUnsafeBytes(body)
  }

  mutating func advance(by count: Int) {
    position += count
  }
}
