package import Foundation

/// Takes gzip or deflate off a body, piece by piece, with the system's zlib.
///
/// Give it the coded bytes as they come with ``add(_:)``, and after each take pieces with ``next()`` until there is none.
/// A piece is never larger than asked for, and no more is decoded than was taken: whoever stops taking stops a bomb.
/// At the body's end ``finish()`` tells whether it was whole.
///
/// - An empty body is a whole one, as servers send it with `Content-Encoding` all the same.
/// - The members of a gzip body follow one another (RFC 1952, section 2.2). What follows the end and is no member is an
///   error, so that nothing is dropped without a word.
///
/// Errors are `badResponse` for bytes that are not of the coding or whose checksum is wrong, and `connectionLost` for a
/// body that ends too early: whoever coded it was cut off. After an error every call throws it again.
///
/// Not for two threads at once.
package final class Inflater {
  private enum State {
    case start, inMember, betweenMembers, ended
    case failed(RequestError)
  }

  private let library: ZLibrary
  private let coding: ContentCoding
  // zlib keeps the address of the stream in its own state: it may not move.
  private let stream: UnsafeMutablePointer<ZStream>
  private let output: UnsafeMutableBufferPointer<UInt8>
  private var input = Data()
  private var state = State.start
  private var isOutputPending = false

  /// Whether the system has a zlib; loads it at the first use.
  package static var isAvailable: Bool {
    ZLibrary.shared != nil
  }

  /// Makes one whose pieces are of at most that many bytes; throws `badResponse` where the system has no zlib.
  package init(_ coding: ContentCoding, pieceSize: Int = 32 * 1024) throws(RequestError) {
    guard let library = ZLibrary.shared else {
      throw RequestError(.badResponse, "The answer is compressed, and there is no zlib (libz.so.1): install zlib1g.")
    }
    precondition(pieceSize > 0 && pieceSize <= 1 << 30, "pieceSize is one of 1 to 2^30")
    self.library = library
    self.coding = coding
    stream = .allocate(capacity: 1)
    stream.initialize(to: ZStream())
    output = .allocate(capacity: pieceSize)
  }

  deinit {
    _ = library.inflateEnd(stream)  // Does nothing for a stream that was never begun.
    stream.deallocate()
    output.deallocate()
  }

  /// Takes in the next coded bytes; they are kept until ``next()`` has used them up.
  package func add(_ coded: Data) {
    if input.isEmpty { input = coded } else { input.append(coded) }
  }

  /// The next decoded bytes, never none; `nil` where all that was taken in is used up.
  package func next() throws(RequestError) -> Data? {
    while true {
      switch state {
      case .failed(let error):
        throw error
      case .start:
        guard try begin() else { return nil }
      case .betweenMembers:
        if input.isEmpty { return nil }
        guard library.inflateReset(stream) == ZStatus.ok else { throw fail("cannot begin another member") }
        state = .inMember
      case .ended:
        if input.isEmpty { return nil }
        throw fail("bytes after the end")
      case .inMember:
        guard isOutputPending || !input.isEmpty else { return nil }
        if let piece = try inflate() { return piece }
      }
    }
  }

  /// To be called at the body's end, when ``next()`` gives no more: throws unless the body was whole.
  package func finish() throws(RequestError) {
    switch state {
    case .failed(let error): throw error
    case .start where input.isEmpty, .betweenMembers, .ended: return
    case .start, .inMember:
      let error = RequestError(.connectionLost, "The compressed answer (\(coding)) ends too early.")
      state = .failed(error)
      throw error
    }
  }

  /// Begins to inflate; `false` where more bytes are needed to know how.
  private func begin() throws(RequestError) -> Bool {
    let windowBits: CInt
    switch coding {
    case .gzip:
      if input.isEmpty { return false }
      windowBits = 15 + 16
    case .deflate:
      guard input.count >= 2 else { return false }
      // The two bytes of a zlib header are a multiple of 31, its method is 8 (RFC 1950, section 2.2).
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
    return count == 0 ? nil : Data(UnsafeBufferPointer(rebasing: output[..<count]))
  }

  private func fail(_ reason: String) -> RequestError {
    let error = RequestError(.badResponse, "The answer is not valid \(coding): \(reason).")
    state = .failed(error)
    input = Data()
    return error
  }
}

/// What zlib's functions give (zlib.h).
private enum ZStatus {
  static let ok: CInt = 0
  static let streamEnd: CInt = 1
  static let noProgress: CInt = -5
}
