import Foundation

/// The part of a request that is still to be written.
struct Outbound {
  private var first: [UInt8] = []
  private var rest = Data()
  private var position = 0

  init() {}

  /// Takes the head, possibly with the body joined to it, and otherwise the body.
  init(_ first: [UInt8], _ rest: Data = Data()) {
    self.first = first
    self.rest = rest
  }

  var isEmpty: Bool { position == first.count + rest.count }

  /// How many bytes have been written.
  var writtenCount: Int { position }

  /// Calls a closure with the next bytes, in two consecutive pieces either of which may be empty; the second has at
  /// most 1 MiB.
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
