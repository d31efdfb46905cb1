public import Platform
import Streams

/// A request's body that is never in memory as a whole: pieces of memory, files and streams, one after another.
///
///     request.upload = try .file(URL(filePath: "holiday.mov"))
///     request.upload = .stream { camera.frames() }
///
/// Files are read in blocks while they are sent, and are opened again if the request is sent again. A file that has
/// changed since the upload was made, or changes while it is sent, ends the request with `cannotRead`: the server then
/// gets less than the announced `Content-Length`, and so does not take it for complete.
///
/// A stream is read as the socket takes it, a few blocks ahead. If its size is not given, the whole body is sent in chunks
/// (RFC 9112, section 7.1), which some servers refuse with status 411. An error of the stream, or a size other than the
/// given one, ends the request with `cannotRead`, and the server does not take it for complete.
public struct HTTPUpload: Sendable {
  package enum Piece: Sendable {
    case data(Data)
    case file(File)
    case stream(Stream)

    package var count: Int? {
      switch self {
      case .data(let data): data.count
      case .file(let file): file.status.size
      case .stream(let stream): stream.count
      }
    }
  }

  /// A stream of bytes, and whether it can be read again.
  package final class Stream: Sendable {
    /// Passes all pieces of the stream to a closure, which returns when there is room for the next.
    package typealias Reading = @Sendable (_ put: (Data) async throws -> Void) async throws -> Void

    package let count: Int?
    fileprivate let opensAgain: Bool
    private let reading: Reading
    private let isOpened = Locked(false)

    fileprivate init(count: Int?, opensAgain: Bool, reading: @escaping Reading) {
      self.count = count
      self.opensAgain = opensAgain
      self.reading = reading
    }

    /// Begins to read; `nil` if that is not possible any more.
    package func open() -> Reading? {
      let isFirst = isOpened.withLock { isOpened in
        defer { isOpened = true }
        return !isOpened
      }
      return isFirst || opensAgain ? reading : nil
    }

    fileprivate var isIntact: Bool { opensAgain || !isOpened.withLock { $0 } }
  }

  /// A file, and what identifies its contents.
  package struct File: Sendable {
    package let path: String
    package let status: Status
  }

  /// What changes with a file's contents.
  package struct Status: Hashable, Sendable {
    package let size: Int
    let device: UInt64
    let node: UInt64
    let seconds: Int
    let nanoseconds: Int

    /// The status of an open file.
    package init(of descriptor: Int32) throws(SystemError) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw .last }
      self.init(status)
    }

    fileprivate init(_ status: stat) {
      size = Int(status.st_size)
      (device, node) = (UInt64(status.st_dev), UInt64(status.st_ino))
      #if canImport(Darwin)
        let time = status.st_mtimespec
      #else
        let time = status.st_mtim
      #endif
      (seconds, nanoseconds) = (Int(time.tv_sec), Int(time.tv_nsec))
    }
  }

  package private(set) var pieces: [Piece] = []

  /// The size in bytes; `nil` if it is not known beforehand.
  public private(set) var count: Int? = 0

  /// Whether it can be read again and again.
  package var opensAgain: Bool {
    pieces.allSatisfy { if case .stream(let stream) = $0 { stream.opensAgain } else { true } }
  }

  /// Whether it can be read now: it opens again, or was not opened yet.
  package var isIntact: Bool {
    pieces.allSatisfy { if case .stream(let stream) = $0 { stream.isIntact } else { true } }
  }

  /// Whether there is anything in it that has to be waited for.
  package var isStream: Bool { pieces.contains { if case .stream = $0 { true } else { false } } }

  /// Makes an empty upload.
  public init() {}

  /// A file. Throws `cannotRead` if it cannot be opened, or is not a regular file.
  public static func file(_ url: URL) throws(RequestError) -> HTTPUpload {
    var upload = HTTPUpload()
    try upload.append(contentsOf: url)
    return upload
  }

  /// A stream that a closure makes, again if the request is sent again; see ``append(count:_:)``.
  public static func stream<Bytes: AsyncSequence & SendableMetatype>(
    count: Int? = nil, _ makeBytes: @escaping @Sendable () throws -> Bytes
  ) -> HTTPUpload where Bytes.Element == Data, Bytes.AsyncIterator: SendableMetatype {
    var upload = HTTPUpload()
    upload.append(count: count, makeBytes)
    return upload
  }

  /// A stream that can be read once: the request is not sent again once it has been opened. A second attempt of your own
  /// fails with `cannotRead`.
  public static func stream<Bytes: AsyncSequence & Sendable>(
    once bytes: Bytes, count: Int? = nil
  ) -> HTTPUpload where Bytes.Element == Data, Bytes.AsyncIterator: SendableMetatype {
    var upload = HTTPUpload()
    upload.append(
      .stream(
        Stream(count: count, opensAgain: false) { put in for try await piece in bytes { try await put(piece) } }))
    return upload
  }

  /// Adds bytes.
  public mutating func append(_ data: Data) {
    if !data.isEmpty { append(.data(data)) }
  }

  /// Adds another upload.
  public mutating func append(_ upload: HTTPUpload) {
    for piece in upload.pieces { append(piece) }
  }

  /// Adds a stream, of a size that is given if it is known. The closure is called once for each time that the request is
  /// sent, in a task of its own, which is cancelled when the request ends.
  public mutating func append<Bytes: AsyncSequence & SendableMetatype>(
    count: Int? = nil, _ makeBytes: @escaping @Sendable () throws -> Bytes
  ) where Bytes.Element == Data, Bytes.AsyncIterator: SendableMetatype {
    append(
      .stream(
        Stream(count: count, opensAgain: true) { put in
          for try await piece in try makeBytes() { try await put(piece) }
        }))
  }

  private mutating func append(_ piece: Piece) {
    pieces.append(piece)
    count = count.flatMap { count in piece.count.map { count + $0 } }
  }

  /// Adds the contents of a file. Throws `cannotRead` if it cannot be opened, or is not a regular file.
  public mutating func append(contentsOf url: URL) throws(RequestError) {
    let path = url.path(percentEncoded: false)
    let file: File
    do throws(SystemError) {
      let descriptor = try HTTPUpload.open(path)
      defer { close(descriptor) }
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw .last }
      guard status.st_mode & S_IFMT == S_IFREG else { throw SystemError(code: EINVAL) }
      file = File(path: path, status: Status(status))
    } catch {
      throw RequestError(.cannotRead, "'\(path)' cannot be read as a file: \(error).", cause: error, reached: .never)
    }
    if file.status.size > 0 { append(.file(file)) }
  }

  /// Opens a file, without waiting if it is a pipe.
  package static func open(_ path: String) throws(SystemError) -> Int32 {
    try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK).number
  }
}
