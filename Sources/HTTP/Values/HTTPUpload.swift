public import Foundation

/// A request's body that is never in memory as a whole: pieces of memory and files, one after another.
///
///     request.upload = try .file(URL(filePath: "holiday.mov"))
///
/// Its size is known beforehand. Files are read in blocks while they are sent, and are opened again if the request is
/// sent again. A file that has changed since the upload was made, or changes while it is sent, ends the request with
/// `cannotRead`: the server then gets less than the announced `Content-Length`, and so does not take it for complete.
public struct HTTPUpload: Sendable {
  package enum Piece: Sendable {
    case data(Data)
    case file(File)

    package var count: Int {
      switch self {
      case .data(let data): data.count
      case .file(let file): file.status.size
      }
    }
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

  /// The size in bytes.
  public private(set) var count = 0

  /// Makes an empty upload.
  public init() {}

  /// A file. Throws `cannotRead` if it cannot be opened, or is not a regular file.
  public static func file(_ url: URL) throws(RequestError) -> HTTPUpload {
    var upload = HTTPUpload()
    try upload.append(contentsOf: url)
    return upload
  }

  /// Adds bytes.
  public mutating func append(_ data: Data) {
    guard !data.isEmpty else { return }
    pieces.append(.data(data))
    count += data.count
  }

  /// Adds another upload.
  public mutating func append(_ upload: HTTPUpload) {
    pieces += upload.pieces
    count += upload.count
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
    guard file.status.size > 0 else { return }
    pieces.append(.file(file))
    count += file.status.size
  }

  /// Opens a file, without waiting if it is a pipe.
  package static func open(_ path: String) throws(SystemError) -> Int32 {
    // The system would end the name at a NUL, and open another file.
    guard !path.utf8.contains(0) else { throw SystemError(code: ENOENT) }
    let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .last }
    return descriptor
  }
}

/// Reads an upload from any offset on, a block at a time.
///
/// Belongs to one connection, which uses it under its lock.
package final class HTTPUploadReader {
  private static let blockSize = 128 << 10

  private let upload: HTTPUpload
  /// The file that is open: the index of its piece, and its descriptor.
  private var open: (piece: Int, descriptor: Int32)?
  private var block: [UInt8] = []
  /// The offset in the upload at which the block begins.
  private var blockStart = 0

  package init(_ upload: HTTPUpload) {
    self.upload = upload
  }

  deinit { closeFile() }

  /// Calls a closure with some of the bytes at an offset; throws `cannotRead` if a file cannot be read, or has changed.
  /// The last bytes of a file are given only once it is certain that it did not change meanwhile.
  package func withBytes<Result>(
    at offset: Int, _ body: (UnsafeRawBufferPointer) -> Result
  ) throws(RequestError) -> Result {
    if !(blockStart..<blockStart + block.count).contains(offset) {
      var (index, start) = (0, 0)
      while index < upload.pieces.count, offset >= start + upload.pieces[index].count {
        start += upload.pieces[index].count
        index += 1
      }
      guard index < upload.pieces.count else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
      switch upload.pieces[index] {
      case .data(let data):
        return data.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[(offset - start)...].prefix(1 << 20))) }
      case .file(let file):
        try read(file, index, at: offset - start)
        blockStart = offset
      }
    }
    return block.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[(offset - blockStart)...])) }
  }

  private func read(_ file: HTTPUpload.File, _ index: Int, at offset: Int) throws(RequestError) {
    do throws(SystemError) {
      if open?.piece != index {
        closeFile()
        open = (index, try HTTPUpload.open(file.path))
      }
      guard let descriptor = open?.descriptor else { return }
      let count = min(Self.blockSize, file.status.size - offset)
      if block.count != count { block = [UInt8](repeating: 0, count: count) }
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
          block = []
          throw SystemError(code: ESTALE)
        }
      }
      if isLast { closeFile() }
    } catch {
      let reason = error.code == ESTALE ? "it has changed since the request was made" : "\(error)"
      throw RequestError(
        .cannotRead, "'\(file.path)' cannot be sent: \(reason). Make the request again.", cause: error, reached: .maybe)
    }
  }

  private func closeFile() {
    if let open { close(open.descriptor) }
    open = nil
  }
}
