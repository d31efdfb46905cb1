import Foundation

/// The first byte is the size of the pieces in which the frames arrive, and says whether messages may be compressed. The
/// result must not depend on the pieces, nor on how much is read in a turn.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 0 else { return 0 }
  let bytes = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
  let compression: CompressionAgreement? =
    switch start[0] & 3 {
    case 0, 1: nil
    case 2: CompressionAgreement(serverKeepsContext: false)
    default: CompressionAgreement(serverKeepsContext: true)
    }
  let whole = read(bytes, pieces: .max, compression)
  let pieces = read(bytes, pieces: Int(start[0] >> 2) + 1, compression)
  precondition(whole == pieces, "The pieces of frames matter.")
  let turns = read(bytes, pieces: .max, turns: Int(start[0]) << 4 + 1, compression)
  precondition(whole == turns, "It matters how much is read in a turn.")
  return 0
}

private struct Outcome: Equatable {
  var items: [WebSocketReader.Item] = []
  var code: WebSocketCloseCode?
}

private func read(
  _ bytes: UnsafeRawBufferPointer, pieces size: Int, turns turnSize: Int = .max,
  _ compression: CompressionAgreement?
) -> Outcome {
  var reader = WebSocketReader(limit: 1 << 16, inflater: compression.flatMap { MessageInflater($0) })
  var (outcome, rest) = (Outcome(), bytes)
  do throws(WebSocketViolation) {
    while !rest.isEmpty {
      var input = UnsafeRawBufferPointer(rebasing: rest.prefix(size))
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(size))
      repeat {
        let count = input.count
        var turn = ReadingTurn(of: turnSize)
        while let item = try reader.next(&input, during: &turn) { outcome.items.append(item) }
        precondition(input.count < max(count, 1), "Nothing is read.")
      } while !input.isEmpty && turnSize < .max
      precondition(input.isEmpty, "Bytes are left over.")
    }
  } catch {
    outcome.code = error.code
  }
  for item in outcome.items {
    if case .message(.text(let text)) = item {
      precondition(String(validating: Array(text.utf8), as: UTF8.self) == text, "A text is not UTF-8.")
    }
  }
  return outcome
}
