package import HTTPClientCore
package import SystemBase

/// Decompresses gzip or deflate piece by piece, with the system's zlib.
///
/// Pass compressed bytes to ``add(_:)`` as they arrive, and after each call take pieces with ``next()`` until there are
/// none. A piece is never larger than requested, and no more is decompressed than is taken: to stop a decompression
/// bomb, stop taking. At the end of the body, ``finish()`` says whether it was complete.
///
/// - An empty body counts as complete, because servers send it with `Content-Encoding` all the same.
/// - A gzip body may consist of several members (RFC 1952, section 2.2), and end with zeros, which some programs pad
///   files with and gzip ignores. Other bytes after the end are an error, so that nothing is dropped silently.
/// - More than 128 KiB that decompress to almost nothing, such as empty members, are an error.
///
/// Errors are `badResponse` for invalid bytes or a wrong checksum, and `connectionLost` for a body that ends too early.
/// After an error, every call throws it again.
///
/// Not thread-safe.
package final class Inflater {
  private enum State {
    case start, inMember, betweenMembers, padding, ended
    case failed(RequestError)
  }

  private let library: ZLibrary
  private let coding: ContentCoding
  // zlib keeps the address of the stream in its own state, so it must not move.
  private let stream: UnsafeMutablePointer<ZStream>
  private let output: UnsafeMutableBufferPointer<UInt8>
  private var input = Data()
  private var state = State.start
  private var isOutputPending = false
  /// Compressed bytes beyond what the decompressed bytes account for.
  private var overhead = 0

  /// Otherwise a server could send empty blocks or members, or the name of a file, without end.
  private static let largestOverhead = 128 << 10
  /// How many compressed bytes one decompressed byte accounts for: a member of a single byte takes up to about 100.
  private static let overheadPerByte = 128

  /// Whether the system has zlib; loads it on first use.
  package static var isAvailable: Bool {
    ZLibrary.shared != nil
  }

  /// Makes an inflater whose pieces have at most `pieceSize` bytes; throws `badResponse` if the system has no zlib.
  package init(_ coding: ContentCoding, pieceSize: Int = 32 * 1024) throws(RequestError) {
    guard let library = ZLibrary.shared else {
      throw RequestError(.badResponse, "The response is compressed, and there is no zlib (libz.so.1): install zlib1g.")
    }
    precondition(pieceSize > 0 && pieceSize <= 1 << 30, "pieceSize is one of 1 to 2^30")
    self.library = library
    self.coding = coding
    stream = .allocate(capacity: 1)
    stream.initialize(to: ZStream())
    output = .allocate(capacity: pieceSize)
  }

  deinit {
    _ = library.inflateEnd(stream)  // does nothing for a stream that was never begun
    stream.deallocate()
    output.deallocate()
  }

  /// Adds the next compressed bytes, which are kept until ``next()`` has used them up.
  package func add(_ coded: Data) {
    if input.isEmpty { input = coded } else { input.append(coded) }
  }

  /// The next decompressed bytes, never empty; `nil` if all added bytes are used up.
  package func next() throws(RequestError) -> Data? {
    while true {
      switch state {
      case .failed(let error):
        throw error
      case .start:
        guard try begin() else { return nil }
      case .betweenMembers:
        if input.isEmpty { return nil }
        if input.first == 0 {
          state = .padding
          continue
        }
        guard library.inflateReset(stream) == ZStatus.ok else { throw fail("cannot begin another member") }
        state = .inMember
      case .padding:
        guard input.allSatisfy({ $0 == 0 }) else { throw fail("bytes after the end") }
        overhead += input.count
        input = Data()
        guard overhead <= Self.largestOverhead else { throw fail("it decompresses to almost nothing") }
        return nil
      case .ended:
        if input.isEmpty { return nil }
        throw fail("bytes after the end")
      case .inMember:
        guard isOutputPending || !input.isEmpty else { return nil }
        if let piece = try inflate() { return piece }
      }
    }
  }

  /// Call this at the end of the body, when ``next()`` returns nothing more; throws unless the body was complete.
  package func finish() throws(RequestError) {
    switch state {
    case .failed(let error): throw error
    case .start where input.isEmpty, .betweenMembers, .padding, .ended: return
    case .start, .inMember:
      let error = RequestError(.connectionLost, "The compressed response (\(coding)) ends too early.")
      state = .failed(error)
      throw error
    }
  }

  /// Begins to decompress; returns `false` if more bytes are needed to know how.
  private func begin() throws(RequestError) -> Bool {
    let windowBits: CInt
    switch coding {
    case .gzip:
      if input.isEmpty { return false }
      windowBits = 15 + 16
    case .deflate:
      guard input.count >= 2 else { return false }
      // The two bytes of a zlib header form a multiple of 31, and the method is 8 (RFC 1950, section 2.2).
      let (first, second) = (Int(input[input.startIndex]), Int(input[input.startIndex + 1]))
      let isWrapped = first & 0x0F == 8 && first >> 4 <= 7 && (first << 8 | second) % 31 == 0
      windowBits = isWrapped ? 15 : -15
    }
    let size = CInt(MemoryLayout<ZStream>.size)
    guard library.inflateInit2(stream, windowBits, library.version(), size) == ZStatus.ok else {
      throw fail("zlib cannot begin")
    }
    state = .inMember
    return true
  }

  private func inflate() throws(RequestError) -> Data? {
    stream.pointee.nextOut = output.baseAddress
    stream.pointee.availableOut = CUnsignedInt(output.count)
    let (status, used) = input.withUnsafeBytes { bytes in
      let bytes = bytes.bindMemory(to: UInt8.self).prefix(1 << 30)
      stream.pointee.nextIn = UnsafeBufferPointer(rebasing: bytes).baseAddress
      stream.pointee.availableIn = CUnsignedInt(bytes.count)
      let status = library.inflate(stream, 0)
      stream.pointee.nextIn = nil
      return (status, bytes.count - Int(stream.pointee.availableIn))
    }
    input = used == input.count ? Data() : input.dropFirst(used)
    isOutputPending = stream.pointee.availableOut == 0
    switch status {
    case ZStatus.ok: break
    case ZStatus.noProgress where input.isEmpty: break
    case ZStatus.streamEnd:
      isOutputPending = false
      state = coding == .gzip ? .betweenMembers : .ended
    default: throw fail(stream.pointee.message.map { String(cString: $0) } ?? "zlib's status \(status)")
    }
    let count = output.count - Int(stream.pointee.availableOut)
    overhead = max(overhead + used - count * Self.overheadPerByte, 0)
    guard overhead <= Self.largestOverhead else { throw fail("it decompresses to almost nothing") }
    return count == 0 ? nil : Data(UnsafeBufferPointer(rebasing: output[..<count]))
  }

  private func fail(_ reason: String) -> RequestError {
    let error = RequestError(.badResponse, "The response is not valid \(coding): \(reason).")
    state = .failed(error)
    input = Data()
    return error
  }
}
