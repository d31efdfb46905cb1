import Platform

/// Reads an upload from its beginning to its end, a block at a time, and frames it in chunks if its size is not known
/// (RFC 9112, section 7.1).
///
/// Belongs to one connection, which uses it under its lock.
package final class HTTPUploadReader {
  /// The outcome of asking for the next bytes.
  package enum Next<Result> {
    case lent(Result)
    /// A stream has nothing to read yet; once it has, or has ended, `whenReady` is called.
    case waiting
    case end
  }

  private static let blockSize = 256 << 10

  private let pieces: [HTTPUpload.Piece]
  private let isChunked: Bool
  private let whenReady: @Sendable () -> Void

  /// The piece that is read next, and from where on.
  private var (index, offset) = (0, 0)
  /// The file that is open.
  private var file: Int32?
  private var stream: UploadStream?
  /// The last bytes of a stream of a given size, until it is certain that it ends there.
  private var held: Data?

  /// What is lent next: what frames the next bytes, and these.
  private var frame: ArraySlice<UInt8> = []
  private var bytes: Data = Data()
  private var block: [UInt8] = []
  private var blockStart = 0
  private var hasChunk = false
  /// Whether a stream had nothing to read when it was asked last.
  package private(set) var isWaiting = false
  private var isOver = false

  package init(_ upload: HTTPUpload, whenReady: @escaping @Sendable () -> Void = {}) {
    pieces = upload.pieces
    isChunked = upload.count == nil
    self.whenReady = whenReady
    isOver = pieces.isEmpty
  }

  deinit { closeFile() }

  /// Whether everything was taken.
  package var isAtEnd: Bool { isOver && frame.isEmpty && restCount == 0 }

  /// Calls a closure with the next bytes, in two consecutive pieces either of which may be empty; the second has at most
  /// 1 MiB. Throws `cannotRead` if a file or a stream cannot be read, has changed, or has another size than was
  /// announced; the last bytes of a file, and of a stream of a given size, are lent only once that is certain.
  package func withNext<Result>(
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Result
  ) throws(RequestError) -> Next<Result> {
    isWaiting = false
    while frame.isEmpty, restCount == 0 {
      if isOver { return .end }
      isWaiting = try !readNext()
      if isWaiting { return .waiting }
    }
    let result = frame.withUnsafeBytes { frame in
      if bytes.isEmpty {
        block.withUnsafeBytes { body(frame, UnsafeRawBufferPointer(rebasing: $0[blockStart...])) }
      } else {
        bytes.withUnsafeBytes { body(frame, UnsafeRawBufferPointer(rebasing: $0.prefix(1 << 20))) }
      }
    }
    return .lent(result)
  }

  /// Records how many of the lent bytes were taken; returns how many of them are the upload's own.
  package func advance(by count: Int) -> Int {
    let framing = min(count, frame.count)
    frame = frame.dropFirst(framing)
    let taken = count - framing
    if bytes.isEmpty { blockStart += taken } else { bytes = bytes.dropFirst(taken) }
    return taken
  }

  private var restCount: Int { bytes.count + block.count - blockStart }

  /// Reads the next bytes, or the end; returns false if there are none yet.
  private func readNext() throws(RequestError) -> Bool {
    if index < pieces.count {
      switch pieces[index] {
      case .data(let data):
        bytes = data
        endPiece()
      case .file(let file):
        try read(file)
        offset += block.count
        if offset == file.status.size { endPiece() }
      case .stream(let stream):
        guard try read(stream) else { return false }
      }
    }
    if isChunked { addFrame() }
    return true
  }

  private func endPiece() {
    (index, offset) = (index + 1, 0)
    isOver = index == pieces.count && !isChunked
  }

  private func addFrame() {
    let count = restCount
    if count == 0, index < pieces.count { return }
    // The line end behind the chunk before it.
    frame = hasChunk ? [13, 10] : []
    frame += Array("\(String(count, radix: 16))\r\n".utf8)
    hasChunk = true
    if count == 0 {
      frame += [13, 10]
      isOver = true
    }
  }

  private func closeFile() {
    if let file { close(file) }
    file = nil
  }
}

extension HTTPUploadReader {
  private func read(_ file: HTTPUpload.File) throws(RequestError) {
    do throws(SystemError) {
      if self.file == nil { self.file = try HTTPUpload.open(file.path) }
      guard let descriptor = self.file else { return }
      let count = min(Self.blockSize, file.status.size - offset)
      if block.count != count { block = [UInt8](repeating: 0, count: count) }
      blockStart = count
      var filled = 0
      while filled < count {
        let read = block.withUnsafeMutableBytes { bytes in
          retryingOnInterrupt {
            pread(descriptor, bytes.baseAddress?.advanced(by: filled), count - filled, offset + filled)
          }
        }
        guard let read else { throw .last }
        if read == 0 { break }
        filled += read
      }
      let isLast = offset + count == file.status.size
      // On opening and before the last bytes: whatever changed in between changed its time, too.
      if filled < count || offset == 0 || isLast {
        guard filled == count, try HTTPUpload.Status(of: descriptor) == file.status else {
          throw SystemError(code: ESTALE)
        }
      }
      blockStart = 0
      if isLast { closeFile() }
    } catch {
      let reason = error.code == ESTALE ? "it has changed since the request was made" : "\(error)"
      throw RequestError(
        .cannotRead, "'\(file.path)' cannot be sent: \(reason). Make the request again.", cause: error, reached: .maybe)
    }
  }

  /// Reads what a stream has, or its end; returns false if there is neither yet.
  private func read(_ source: HTTPUpload.Stream) throws(RequestError) -> Bool {
    let stream = self.stream ?? UploadStream(source, whenReady: whenReady)
    self.stream = stream
    switch stream.next() {
    case .waiting: return false
    case .failed(let error):
      throw RequestError(
        .cannotRead, "The stream of the body failed: \("\(error)".sanitized(upTo: 500))", cause: error, reached: .maybe)
    case .usedUp:
      throw RequestError(
        .cannotRead,
        "The stream of the body can be read once, and was read: give a closure that makes it, or make the request again.",
        reached: .never)
    case .bytes(let data):
      offset += data.count
      guard let count = source.count else {
        bytes = data
        break
      }
      guard held == nil, offset <= count else { throw wrongSize("more than the \(count)", offset) }
      if offset == count { held = data } else { bytes = data }
    case .end:
      if let count = source.count, offset != count { throw wrongSize("\(offset) of the \(count)", offset) }
      bytes = held.take() ?? Data()
      self.stream = nil
      endPiece()
    }
    return true
  }

  private func wrongSize(_ words: String, _ count: Int) -> RequestError {
    RequestError(
      .cannotRead, "The stream of the body has \(words) bytes that were announced: give its size, or none.",
      reached: .maybe)
  }
}
