import Streams
public import SystemBase

/// A request's body that is never in memory as a whole: pieces of memory, files and streams, one after another.
///
///     request.upload = try .file(URL(filePath: "holiday.mov"))
///     request.upload = .stream { camera.frames() }
///
/// Files are read in blocks while they are sent, and are opened again if the request is sent again. A file that has
/// changed since the upload was made ends the request with `cannotRead` before anything is sent, as far as its size, its
/// inode and its times show; of these, a program can set back all but the time of the last change (`st_ctime`), which
/// new rights or a new link to the file change as well. A file that changes while it is sent ends the request, too: the
/// server then gets less than the announced `Content-Length`, and so does not take it for complete.
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

    private init(count: Int?, opensAgain: Bool, reading: @escaping Reading) {
      self.count = count
      self.opensAgain = opensAgain
      self.reading = reading
    }

    fileprivate convenience init<Bytes: AsyncSequence & SendableMetatype>(
      count: Int?, _ makeBytes: @escaping @Sendable () throws -> Bytes
    ) where Bytes.Element == Data, Bytes.AsyncIterator: SendableMetatype {
      self.init(count: count, opensAgain: true) { put in for try await piece in try makeBytes() { try await put(piece) }
      }
    }

    fileprivate convenience init<Bytes: AsyncSequence & Sendable>(
      count: Int?, once bytes: Bytes
    ) where Bytes.Element == Data, Bytes.AsyncIterator: SendableMetatype {
      self.init(count: count, opensAgain: false) { put in for try await piece in bytes { try await put(piece) } }
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
    /// When the contents were last changed, which a program can set back.
    let modification: Time
    /// When they, or anything else about the file, were last changed, which only the system sets.
    let change: Time

    struct Time: Hashable {
      let seconds: Int
      let nanoseconds: Int

      init(_ time: timespec) { (seconds, nanoseconds) = (Int(time.tv_sec), Int(time.tv_nsec)) }
    }

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
        (modification, change) = (Time(status.st_mtimespec), Time(status.st_ctimespec))
      #else
        (modification, change) = (Time(status.st_mtim), Time(status.st_ctim))
      #endif
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
  package var hasToWait: Bool { pieces.contains { if case .data = $0 { false } else { true } } }

  /// Whether there are files in it.
  package var hasFiles: Bool { pieces.contains { if case .file = $0 { true } else { false } } }

  /// Makes an empty upload.
  public init() {}

  /// A file. Throws `cannotRead` if it cannot be opened, or is not a regular file.
  public static func file(_ url: URL) throws(RequestError) -> HTTPUpload {
    var upload = HTTPUpload()
    try upload.append(contentsOf: url)
    return upload
  }

  /// A stream of unknown size that a closure makes, again if the request is sent again; see ``append(count:_:)``.
  public static func stream<Bytes: AsyncSequence & SendableMetatype>(
    _ makeBytes: @escaping @Sendable () throws -> Bytes
  ) -> HTTPUpload where Bytes.Element == Data, Bytes.AsyncIterator: SendableMetatype {
    HTTPUpload(.stream(Stream(count: nil, makeBytes)))
  }

  /// A stream that a closure makes, again if the request is sent again; see ``append(count:_:)``. Throws `invalidRequest`
  /// for a negative size.
  public static func stream<Bytes: AsyncSequence & SendableMetatype>(
    count: Int?, _ makeBytes: @escaping @Sendable () throws -> Bytes
  ) throws(RequestError) -> HTTPUpload where Bytes.Element == Data, Bytes.AsyncIterator: SendableMetatype {
    var upload = HTTPUpload()
    try upload.append(count: count, makeBytes)
    return upload
  }

  /// A stream of unknown size that can be read once: the request is not sent again once it has been opened. A second
  /// attempt of your own fails with `cannotRead`.
  public static func stream<Bytes: AsyncSequence & Sendable>(
    once bytes: Bytes
  ) -> HTTPUpload where Bytes.Element == Data, Bytes.AsyncIterator: SendableMetatype {
    HTTPUpload(.stream(Stream(count: nil, once: bytes)))
  }

  /// A stream of a known size that can be read once, as ``stream(once:)``. Throws `invalidRequest` for a negative size.
  public static func stream<Bytes: AsyncSequence & Sendable>(
    once bytes: Bytes, count: Int?
  ) throws(RequestError) -> HTTPUpload where Bytes.Element == Data, Bytes.AsyncIterator: SendableMetatype {
    HTTPUpload(.stream(Stream(count: try checked(count), once: bytes)))
  }

  private init(_ piece: Piece) { append(piece) }

  private static func checked(_ count: Int?) throws(RequestError) -> Int? {
    guard let count, count < 0 else { return count }
    throw RequestError(
      .invalidRequest, "A stream cannot have \(count) bytes: give its size, or nil if it is not known.", reached: .never
    )
  }

  /// Adds bytes.
  public mutating func append(_ data: Data) {
    if !data.isEmpty { append(.data(data)) }
  }

  /// Adds another upload.
  public mutating func append(_ upload: HTTPUpload) {
    for piece in upload.pieces { append(piece) }
  }

  /// Adds a stream of unknown size. The closure is called once for each time that the request is sent, in a task of its
  /// own, which is cancelled when the request ends.
  public mutating func append<Bytes: AsyncSequence & SendableMetatype>(
    _ makeBytes: @escaping @Sendable () throws -> Bytes
  ) where Bytes.Element == Data, Bytes.AsyncIterator: SendableMetatype {
    append(.stream(Stream(count: nil, makeBytes)))
  }

  /// Adds a stream, of a size that is given if it is known. The closure is called once for each time that the request is
  /// sent, in a task of its own, which is cancelled when the request ends. Throws `invalidRequest` for a negative size.
  public mutating func append<Bytes: AsyncSequence & SendableMetatype>(
    count: Int?, _ makeBytes: @escaping @Sendable () throws -> Bytes
  ) throws(RequestError) where Bytes.Element == Data, Bytes.AsyncIterator: SendableMetatype {
    append(.stream(Stream(count: try Self.checked(count), makeBytes)))
  }

  private mutating func append(_ piece: Piece) {
    pieces.append(piece)
    // A stream may claim any size, which is checked while it is read.
    count = count.flatMap { count in
      piece.count.map { ($0 > .max - count) ? .max : count + $0 }
    }
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
