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
  var writtenCount: Int { position }

  /// Lends the next bytes in two pieces, one behind the other, of which either may be empty; at most 1 MiB of the second.
  func withNext<Result>(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Result) -> Result {
    first.withUnsafeBytes { first in
      rest.withUnsafeBytes { rest in
        body(
          UnsafeRawBufferPointer(rebasing: first[min(position, first.count)...]),
          UnsafeRawBufferPointer(rebasing: rest[max(position - first.count, 0)...].prefix(1 << 20)))
      }
    }
  }

  mutating func advance(by count: Int) {
    position += count
  }
}
