import Foundation

/// The first byte is the size of the pieces in which the rest arrives, and says which parser reads it. The result must
/// not depend on the pieces.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 0 else { return 0 }
  let bytes = Data(bytes: start + 1, count: count - 1)
  let size = Int(start[0] >> 1) + 1
  if start[0] & 1 == 0 {
    precondition(events(bytes, pieces: size) == events(bytes, pieces: .max), "The pieces of an event stream matter.")
  } else {
    precondition(parts(bytes, pieces: size) == parts(bytes, pieces: .max), "The pieces of a multipart body matter.")
  }
  return 0
}

private func events(_ bytes: Data, pieces size: Int) -> [ServerSentEvent]? {
  var parser = EventStreamParser(limit: .max)
  return read(bytes, pieces: size) { piece throws(RequestError) in try parser.consume(piece) }
}

private func parts(_ bytes: Data, pieces size: Int) -> [MultipartPart]? {
  var parser = MultipartParser(boundary: "b", limit: .max)
  return read(bytes, pieces: size) { piece throws(RequestError) in try parser.consume(piece) }
}

private func read<Item>(
  _ bytes: Data, pieces size: Int, _ consume: (Data) throws(RequestError) -> [Item]
) -> [Item]? {
  var (items, rest) = ([Item](), bytes)
  do throws(RequestError) {
    while !rest.isEmpty {
      items += try consume(rest.prefix(size))
      rest = rest.dropFirst(size)
    }
  } catch {
    return nil
  }
  return items
}
