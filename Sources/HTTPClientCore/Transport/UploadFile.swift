import Streams
package import SystemBase

/// How a transport reads files: any call may take long, as on a network's file system, and so is made on a thread that
/// may block.
package struct FileAccess: Sendable {
  /// Runs a closure soon, on a thread that may block.
  package let run: @Sendable (@escaping @Sendable () -> Void) -> Void
  /// How long a file waits to be opened while the process has no descriptor left; `nil` for without a limit.
  private var patience: Duration? = .zero
  /// Called before each call of the system on the file with this path, on the same thread: for tests.
  private let willCall: @Sendable (_ path: String) -> Void
  /// The error with which the next call of the system fails, if it does: for tests.
  private let nextFailure: @Sendable () -> SystemError?

  package init(
    willCall: @escaping @Sendable (_ path: String) -> Void = { _ in },
    nextFailure: @escaping @Sendable () -> SystemError? = { nil },
    run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    self.run = run
    self.willCall = willCall
    self.nextFailure = nextFailure
  }

  /// This access for a request that waits so long for a descriptor.
  package func waiting(upTo patience: Duration?) -> FileAccess {
    var access = self
    access.patience = patience
    return access
  }

  /// The times from one attempt to the next in a shortage.
  private static let pauses = Backoff(initial: .milliseconds(10), maximum: .milliseconds(250), jitter: 0)

  /// Opens a file, and checks that it has not changed. In a shortage of descriptors it tries again, unless nobody needs the
  /// file any more.
  fileprivate func open(
    _ file: HTTPUpload.File, unless isStopped: () -> Bool
  ) throws(SystemError) -> Int32 {
    let end = patience.map { Instant.now + $0 }
    var number = 0
    while true {
      do throws(SystemError) {
        return try open(file)
      } catch {
        guard error.shortage == .ofDescriptors, !isStopped(), end.map({ .now < $0 }) ?? true else { throw error }
        number += 1
        let pause = Self.pauses.delay(after: number)
        let rest = end.map { max($0 - .now, .zero) } ?? pause
        usleep(useconds_t(min(pause, rest) / .microseconds(1)) + 1)
      }
    }
  }

  private func begin(_ file: HTTPUpload.File) throws(SystemError) {
    willCall(file.path)
    if let error = nextFailure() { throw error }
  }

  private func open(_ file: HTTPUpload.File) throws(SystemError) -> Int32 {
    try begin(file)
    let descriptor = try HTTPUpload.open(file.path)
    do throws(SystemError) { try check(file, descriptor) } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  fileprivate func check(_ file: HTTPUpload.File, _ descriptor: Int32) throws(SystemError) {
    try begin(file)
    guard try HTTPUpload.Status(of: descriptor) == file.status else { throw SystemError(code: ESTALE) }
  }

  /// Reads as many bytes from a place as there are, up to `count`; returns how many.
  fileprivate func read(
    _ file: HTTPUpload.File, _ descriptor: Int32, into start: UnsafeMutableRawPointer, _ count: Int, at offset: Int
  ) throws(SystemError) -> Int {
    var filled = 0
    while filled < count {
      try begin(file)
      guard
        let read = retryingOnInterrupt({ pread(descriptor, start + filled, count - filled, off_t(offset + filled)) })
      else { throw .last }
      if read == 0 { break }
      filled += read
    }
    return filled
  }
}

extension HTTPUpload {
  /// Checks that its files are there and have not changed, with calls that may block. Throws `cannotRead`; then nothing of
  /// the request was sent. `isStopped` says whether nobody needs to know any more.
  package func checkFiles(_ access: FileAccess, unless isStopped: () -> Bool) throws(RequestError) {
    for case .file(let file) in pieces {
      do throws(SystemError) { close(try access.open(file, unless: isStopped)) } catch {
        throw file.failure(error, .never)
      }
    }
  }
}

extension HTTPUpload.File {
  /// The error for a file that cannot be sent.
  func failure(_ error: any Error, _ reached: RequestError.Reach) -> RequestError {
    let isStale = (error as? SystemError)?.code == ESTALE
    let reason = isStale ? "it has changed since the request was made" : "\(error)"
    return RequestError(
      .cannotRead, "'\(path)' cannot be sent: \(reason). Make the request again.", cause: error, reached: reached)
  }
}

/// Reads a file a block ahead of the socket, on threads that may block; no thread waits while there is enough.
final class UploadFile: Sendable {
  private let mailbox: UploadMailbox

  /// Begins to read. `whenReady` is called after each ``next()`` that had to wait, on any thread.
  init(_ file: HTTPUpload.File, _ access: FileAccess, whenReady: @escaping @Sendable () -> Void) {
    mailbox = UploadMailbox(whenReady: whenReady)
    let reading = Locked(Reading(file: file, access: access))
    access.run { [mailbox] in Self.read(reading, access, into: mailbox) }
  }

  deinit { mailbox.stop() }

  /// The next block, or what there is in its place; the last one only once it is certain that the file has not changed.
  func next() -> UploadNext { mailbox.next() }

  /// Reads until there is enough. The lock is the reader's own: there is one at a time.
  private static func read(_ reading: Locked<Reading>, _ access: FileAccess, into mailbox: UploadMailbox) {
    while !mailbox.isStopped {
      let block = Result { try reading.withLock { try $0.next(unless: { mailbox.isStopped }) } }
      switch block {
      case .success(let block?): mailbox.put(block)
      case .success(nil): return mailbox.end(.success(()))
      case .failure(let error): return mailbox.end(.failure(error))
      }
      if mailbox.isFull({ access.run { read(reading, access, into: mailbox) } }) { return }
    }
    reading.withLock { $0.end() }
  }

  /// How far a file has been read.
  private struct Reading {
    let file: HTTPUpload.File
    let access: FileAccess
    private let memory: BlockMemory
    private var descriptor: Int32?
    private var offset = 0

    init(file: HTTPUpload.File, access: FileAccess) {
      self.file = file
      self.access = access
      memory = BlockMemory(size: min(UploadMailbox.limit, file.status.size))
    }

    /// The next block; `nil` at the end.
    mutating func next(unless isStopped: () -> Bool) throws(SystemError) -> Data? {
      guard offset < file.status.size else { return nil }
      do throws(SystemError) {
        if descriptor == nil { descriptor = try access.open(file, unless: isStopped) }
        guard let descriptor else { return nil }
        let count = min(UploadMailbox.limit, file.status.size - offset)
        let block = memory.take()
        let filled = try access.read(file, descriptor, into: block.start, count, at: offset)
        offset += count
        let isLast = offset == file.status.size
        // Whatever changed in between changed its times, too.
        if isLast || filled < count { try access.check(file, descriptor) }
        guard filled == count else { throw SystemError(code: ESTALE) }
        if isLast { end() }
        return Data(
          bytesNoCopy: block.start, count: count, deallocator: .custom { _, _ in withExtendedLifetime(block) {} })
      } catch {
        end()
        throw error
      }
    }

    mutating func end() {
      if let descriptor = descriptor.take() { close(descriptor) }
    }
  }
}

/// The memory of a block that was sent, for a later one: the system's new memory has to be filled with zeros first.
private final class BlockMemory: Sendable {
  /// A block, whose memory is kept when it is released.
  ///
  /// `@unchecked Sendable`: one thread at a time has it: the one that took it, or that has its `Data`.
  final class Block: @unchecked Sendable {
    let start: UnsafeMutableRawPointer
    private let memory: BlockMemory

    init(_ start: UnsafeMutableRawPointer, _ memory: BlockMemory) {
      self.start = start
      self.memory = memory
    }

    deinit { memory.keep(start) }
  }

  private let size: Int
  private let spare = Locked<UnsafeMutableRawPointer?>(nil)

  init(size: Int) {
    self.size = size
  }

  deinit { spare.withLockUnchecked { $0.take() }?.deallocate() }

  func take() -> Block {
    Block(spare.withLockUnchecked { $0.take() } ?? .allocate(byteCount: size, alignment: 16), self)
  }

  private func keep(_ start: UnsafeMutableRawPointer) {
    let former = spare.withLockUnchecked { spare in
      defer { spare = start }
      return spare
    }
    former?.deallocate()
  }
}
