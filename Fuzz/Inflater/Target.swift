import Foundation

/// Any bytes as a compressed body. The first says which coding it is said to have, and in what pieces it is given out, the
/// second in what pieces it comes: that must not matter.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  let coding: ContentCoding = start[0] & 1 == 0 ? .gzip : .deflate
  let coded = Data(bytes: start + 2, count: count - 2)
  let whole = inflate(coded, coding, pieceSize: 32 << 10, by: .max)
  let pieces = inflate(coded, coding, pieceSize: 64 << Int(start[0] >> 1 & 7), by: Int(start[1]) + 1)
  precondition(whole == pieces, "The pieces matter.")
  return 0
}

/// The body, or what kind of error it is.
private func inflate(_ coded: Data, _ coding: ContentCoding, pieceSize: Int, by step: Int) -> Result<Data, Failure> {
  do throws(RequestError) {
    let inflater = try Inflater(coding, pieceSize: pieceSize)
    var (body, rest) = (Data(), coded)
    while !rest.isEmpty {
      inflater.add(rest.prefix(step))
      rest = rest.dropFirst(step)
      while let piece = try inflater.next() {
        precondition(!piece.isEmpty && piece.count <= pieceSize, "A piece is empty, or too large.")
        body += piece
      }
    }
    try inflater.finish()
    return .success(body)
  } catch {
    return .failure(Failure(kind: error.kind))
  }
}

private struct Failure: Error, Equatable {
  let kind: RequestError.Kind
}
