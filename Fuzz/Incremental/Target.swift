import Foundation

/// Any bytes as a response that arrives in parts. The first byte says how it is read, and the size of the pieces in which
/// it arrives: as a multipart body, as an event stream, or line by line as payloads that are already apart. What is read
/// must not depend on the pieces, and what is kept must be within its bounds.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 0 else { return 0 }
  let bytes = Data(bytes: start + 1, count: count - 1)
  let size = Int(start[0] >> 2) + 1
  switch start[0] & 3 {
  case 0: check(bytes, type: "multipart/mixed; boundary=b", pieces: size)
  case 1: check(bytes, type: "text/event-stream", pieces: size)
  default: merge(bytes)
  }
  return 0
}

/// Fragments with labels, one within the other, and in a list.
private let plan: IncrementalPlan = {
  let document: GraphQLDocument = """
    query fuzz {
      a { b ... @defer(label: "l") { c ... @defer(label: "m") { d } } list { e ...f @defer(label: "n") } }
    }
    fragment f on F { g }
    """
  guard let plan = document.incrementalPlan(named: "fuzz") else { preconditionFailure("There is no plan.") }
  return plan
}()

/// A response that can be read in one piece is read in any, with the same data at the end.
private func check(_ bytes: Data, type: String, pieces size: Int) {
  guard let whole = read(bytes, type: type, pieces: max(bytes.count, 1)) else {
    _ = read(bytes, type: type, pieces: size)
    return
  }
  precondition(read(bytes, type: type, pieces: size) == whole, "The pieces matter.")
}

/// The complete response; `nil` if the bytes are none.
private func read(_ bytes: Data, type: String, pieces size: Int) -> GraphQLResponse<JSONValue>? {
  var reader = IncrementalReader<JSONValue>(plan, .ignore, JSONCoder(), limit: .max, without: SentSecrets())
  var (rest, last) = (bytes, IncrementalResponse<JSONValue>?.none)
  let note = { (response: IncrementalResponse<JSONValue>) in
    precondition(last?.isComplete != true, "Something comes behind the complete response.")
    precondition(response.response.errors.count <= 100, "There are too many errors.")
    last = response
  }
  do {
    let headers = HTTPHeaders([HTTPField(received: "Content-Type", value: type)])
    try reader.read(.head(HTTPResponseHead(status: 200, headers: headers)), note)
    while !rest.isEmpty {
      try reader.read(.body(rest.prefix(size)), note)
      rest = rest.dropFirst(size)
    }
    try reader.finish(note)
  } catch {
    precondition(RequestError(wrapping: error).description.utf8.count <= 8192, "An error is too large.")
    return nil
  }
  guard let last, last.isComplete else { preconditionFailure("A response ends well that is not complete.") }
  return last.response
}

/// Merges each line as a payload, and writes what decoders read.
private func merge(_ bytes: Data) {
  var merger = IncrementalMerger(plan, without: SentSecrets())
  for line in bytes.split(separator: UInt8(ascii: "\n")) {
    guard let payload = try? IncrementalPayload(json: line.bytes) else { continue }
    do throws(RequestError) {
      try merger.merge(payload)
    } catch {
      precondition(error.message.utf8.count <= 4096 && error.message.sanitized() == error.message, "A bad message.")
    }
    _ = try? merger.decodableData?.json()
    precondition(merger.errors.count <= 100, "There are too many errors.")
  }
}
