import Foundation

/// The first byte is the size of the pieces in which the rest arrives. The result must not depend on it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 0 else { return 0 }
  let bytes = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
  precondition(decode(bytes, piece: .max) == decode(bytes, piece: Int(start[0]) + 1), "The pieces matter.")
  return 0
}

private struct Outcome: Equatable {
  var body = Data()
  var consumed = 0
  var isComplete = false
}

private func decode(_ bytes: UnsafeRawBufferPointer, piece: Int) -> Outcome? {
  var decoder = ChunkedDecoder(limits: MessageLimits())
  var outcome = Outcome()
  var rest = bytes[...]
  do throws(RequestError) {
    while !rest.isEmpty, !decoder.isComplete {
      let next = UnsafeRawBufferPointer(rebasing: rest.prefix(piece))
      let count = try decoder.consume(next, into: &outcome.body)
      precondition(count == next.count || decoder.isComplete, "It stopped before the end.")
      outcome.consumed += count
      rest = rest.dropFirst(next.count)
    }
  } catch {
    return nil
  }
  outcome.isComplete = decoder.isComplete
  return outcome
}
