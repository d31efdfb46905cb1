import SystemBase

/// Reads an upload from its beginning to its end, a block at a time, and for HTTP/1.1 frames it in chunks if its size is not
/// known (RFC 9112, section 7.1). It never blocks: files and streams are read elsewhere, ahead of the connection.
///
/// Belongs to one connection, which uses it under its lock.
package final class HTTPUploadReader {
  /// The outcome of asking for the next bytes.
  package enum Next<Result> {
    case lent(Result)
    /// A file or a stream has nothing to read yet; once it has, or has ended, `whenReady` is called.
    case waiting
    case end
  }

  private let pieces: [HTTPUpload.Piece]
  private let isChunked: Bool
  private let access: FileAccess
  private let whenReady: @Sendable () -> Void

  /// The piece that is read next, and from where on.
  private var (index, offset) = (0, 0)
  private var file: UploadFile?
  private var stream: UploadStream?
  /// The last bytes of a stream of a given size, until it is certain that it ends there.
  private var held: Data?

  /// What is lent next: what frames the next bytes, and these.
  private var frame: ArraySlice<UInt8> = []
  private var bytes = Data()
  private var hasChunk = false
  /// Whether a file or a stream had nothing to read when it was asked last.
  package private(set) var isWaiting = false
  private var isOver = false

  /// Begins nothing yet. `whenReady` may be called on any thread.
  package init(
    _ upload: HTTPUpload, _ access: FileAccess, isFramed: Bool = true, whenReady: @escaping @Sendable () -> Void
  ) {
    pieces = upload.pieces
    isChunked = isFramed && upload.count == nil
    isAnnouncedEmpty = upload.count == 0
    self.access = access
    self.whenReady = whenReady
    isOver = pieces.isEmpty
  }

  /// Whether it was announced to have no bytes.
  package let isAnnouncedEmpty: Bool

  /// Whether everything was taken.
  package var isAtEnd: Bool { isOver && frame.isEmpty && bytes.isEmpty }

  /// Calls a closure with the next bytes, in two consecutive pieces either of which may be empty; the second has at most
  /// 64 KiB. Throws `cannotRead` if a file or a stream cannot be read, has changed, or has another size than was
  /// announced; the last bytes of a file, and of a stream of a given size, are lent only once that is certain.
  package func withNext<Result>(
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Result
  ) throws(RequestError) -> Next<Result> {
    isWaiting = false
    while frame.isEmpty, bytes.isEmpty {
      if isOver { return .end }
      isWaiting = try !readNext()
      if isWaiting { return .waiting }
    }
    let result = frame.withUnsafeBytes { frame in
      bytes.withUnsafeBytes { body(frame, UnsafeRawBufferPointer(rebasing: $0.prefix(64 << 10))) }
    }
    return .lent(result)
  }

  /// Records how many of the lent bytes were taken; returns how many of them are the upload's own.
  package func advance(by count: Int) -> Int {
    let framing = min(count, frame.count)
    frame = frame.dropFirst(framing)
    let taken = count - framing
    bytes = bytes.dropFirst(taken)
    return taken
  }

  /// Reads the next bytes, or the end; returns false if there are none yet.
  private func readNext() throws(RequestError) -> Bool {
    if index < pieces.count {
      switch pieces[index] {
      case .data(let data):
        bytes = data
        endPiece()
      case .file(let file):
        guard try read(file) else { return false }
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
    let count = bytes.count
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
}

extension HTTPUploadReader {
  /// Reads the next block of a file; returns false if there is none yet.
  private func read(_ source: HTTPUpload.File) throws(RequestError) -> Bool {
    let file = self.file ?? UploadFile(source, access, whenReady: whenReady)
    self.file = file
    switch file.next() {
    case .waiting: return false
    case .failed(let error): throw source.failure(error, .maybe)
    case .usedUp, .end: break
    case .bytes(let block):
      bytes = block
      offset += block.count
    }
    if offset == source.status.size {
      self.file = nil
      endPiece()
    }
    return true
  }

  /// Reads what a stream has, or its end; returns false if there is neither yet.
  private func read(_ source: HTTPUpload.Stream) throws(RequestError) -> Bool {
    let stream = self.stream ?? UploadStream(source, whenReady: whenReady)
    self.stream = stream
    switch stream.next() {
    case .waiting: return false
    case .failed(let error): throw RequestError(wrapping: error)
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
