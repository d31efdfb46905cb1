import Foundation

/// The first byte selects the request, and where to cut the rest in two. The result must be the same, cut or not.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 0 else { return 0 }
  let bytes = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
  let request: HTTP1Parser.Request = [.other, .head, .connect][Int(start[0] & 3) % 3]
  let cut = bytes.isEmpty ? 0 : Int(start[0] >> 2) * bytes.count / 64
  let whole = outcome([bytes], request)
  let halves = outcome(
    [UnsafeRawBufferPointer(rebasing: bytes[..<cut]), UnsafeRawBufferPointer(rebasing: bytes[cut...])], request)
  precondition(whole == halves, "It matters where the bytes are cut.")
  return 0
}

private struct Outcome: Equatable {
  var head: HTTPResponseHead?
  var body = Data()
  var trailers: HTTPHeaders?
  var consumed = 0
  var isComplete = false
  var allowsReuse = false
}

private func outcome(_ pieces: [UnsafeRawBufferPointer], _ request: HTTP1Parser.Request) -> Outcome? {
  var parser = HTTP1Parser(answering: request)
  var (parts, outcome) = ([HTTPResponsePart](), Outcome())
  do throws(RequestError) {
    for piece in pieces { outcome.consumed += try parser.consume(piece, into: &parts) }
    try parser.finish()
  } catch {
    return nil
  }
  for part in parts {
    switch part {
    case .head(let head):
      precondition(outcome.head == nil, "There are two heads.")
      outcome.head = head
    case .body(let piece):
      precondition(outcome.head != nil && !piece.isEmpty, "A piece is empty, or comes before the head.")
      precondition(outcome.trailers == nil, "A piece comes behind the trailers.")
      outcome.body += piece
    case .trailers(let fields):
      precondition(outcome.head != nil && outcome.trailers == nil, "The trailers are not the last part, or come twice.")
      outcome.trailers = fields
    }
  }
  precondition(outcome.body.count <= outcome.consumed, "There is more in the body than was read.")
  outcome.isComplete = parser.isComplete
  outcome.allowsReuse = parser.allowsReuse
  return outcome
}
