public import Streams
public import SystemBase

extension Observable where Element == HTTPResponsePart {
  /// Combines the parts of a response into one value, with a limit on the bytes of the body.
  ///
  /// Fails with `tooLarge`, and stops the exchange, as soon as the body exceeds the limit; fails with `badResponse` if
  /// there is no head.
  public func collect(upTo limit: Int) -> Observable<HTTPResponse> {
    reduce(into: ResponseCollector(limit: limit)) {
      try $0.add($1)
    } finishing: {
      try $0.finish()
    }
  }
}

/// Collects the parts of one response.
private struct ResponseCollector: Sendable {
  let limit: Int
  private var head: HTTPResponseHead?
  private var body = Data()
  private var trailers = HTTPHeaders()

  init(limit: Int) {
    self.limit = limit
  }

  mutating func add(_ part: HTTPResponsePart) throws(RequestError) {
    switch part {
    case .head(let head):
      self.head = head
    case .body(let piece):
      guard piece.count <= limit - body.count else {
        throw RequestError(.tooLarge, "The response is larger than \(limit) bytes: request less, or raise the limit.")
      }
      // Most responses are a single piece, which is not copied.
      if body.isEmpty { body = piece } else { body.append(piece) }
    case .trailers(let fields): trailers = fields
    }
  }

  func finish() throws(RequestError) -> HTTPResponse {
    guard let head else { throw RequestError(.badResponse, "The transport gave a response without a head.") }
    return HTTPResponse(head: head, body: body, trailers: trailers)
  }
}

extension Observable where Element == HTTPResponsePart {
  /// Writes the body of a response to a file as it arrives, and emits the head once the file is complete.
  ///
  ///     transport.send(request).download(to: file).subscribe(onNext: { head in … })
  ///
  /// The bytes go into a new file beside the target (mode 0600, or that of the target), which replaces the target once all
  /// of them have arrived; a symbolic link stays, and what it names is replaced. If the exchange fails, nothing is left
  /// behind, and the target is as it was; if it is disposed, that is so a moment later. A target that is no regular file,
  /// such as a directory, a device or a pipe, is left alone: the download fails with `cannotWrite`.
  ///
  /// Fails with `httpStatus`, or `redirectRefused`, for a status other than 200 to 299, with `tooLarge` as soon as the
  /// body exceeds the limit, and with `cannotWrite` if the file cannot be written; the exchange is then stopped. The
  /// request's deadlines apply: the total is 60 seconds by default, which may be too short for a large file.
  ///
  /// Subscribes, writes and calls back on threads that may block, and not on that of a task that awaits it: a file system
  /// may be slow.
  public func download(to file: URL, upTo limit: Int = .max) -> Observable<HTTPResponseHead> {
    Observable<HTTPResponseHead>.deferred {
      let download = Download(to: file, limit: limit)
      let parts = self.compactMap { part -> HTTPResponseHead? in
        try download.add(part)
        return nil
      }
      return parts.concat(.deferred { .just(try download.finish()) }).do(
        onError: { _ in download.discard() },
        // It may have to wait for a write, which its thread must not.
        onDispose: { _ = ElasticScheduler().schedule(download.discard) })
    }
    .subscribe(on: ElasticScheduler())
  }
}

/// A file that is being written.
private final class Download: Sendable {
  private struct State {
    var head: HTTPResponseHead?
    var file: FileDescriptor?
    var replacement: FileReplacement?
    var count = 0
    var isDiscarded = false
  }

  private let target: String
  private let limit: Int
  private let state = Locked(State())

  init(to target: URL, limit: Int) {
    self.target = target.path(percentEncoded: false)
    self.limit = limit
  }

  func add(_ responsePart: HTTPResponsePart) throws(RequestError) {
    switch responsePart {
    case .head(let head):
      try head.requireSuccess()
      try open(head)
    case .body(let piece):
      try write(piece)
    case .trailers: break
    }
  }

  /// Creates the file under the lock, so that `discard` either finds the complete state, or prevents the file from
  /// being created.
  private func open(_ head: HTTPResponseHead) throws(RequestError) {
    // The system would end the name there, and write another file.
    guard !target.utf8.contains(0) else { throw failure("its name holds a NUL") }
    do {
      let replacement = try FileReplacement(of: target)
      try state.withLock { state in
        guard !state.isDiscarded else { return }
        state.file = try replacement.create()
        (state.head, state.replacement) = (head, replacement)
      }
    } catch {
      throw failure(error)
    }
  }

  private func write(_ piece: Data) throws(RequestError) {
    let isWithinLimit = state.withLock { state in
      let isWithinLimit = piece.count <= limit - state.count
      state.count += piece.count
      return isWithinLimit
    }
    guard isWithinLimit else {
      throw RequestError(.tooLarge, "The response is larger than \(limit) bytes: raise the limit.")
    }
    do {
      // Under the lock, so that `discard` does not close the file meanwhile.
      try state.withLock { state in try state.file?.writeAll(piece) }
    } catch {
      throw failure(error)
    }
  }

  func finish() throws(RequestError) -> HTTPResponseHead {
    let (head, file, replacement) = state.withLock { state in (state.head, state.file.take(), state.replacement.take())
    }
    guard let head, let file, let replacement else {
      throw RequestError(.badResponse, "The transport gave a response without a head.")
    }
    do throws(SystemError) {
      try file.close()
      try replacement.replace()
    } catch {
      replacement.discard()
      throw failure(error)
    }
    return head
  }

  /// Removes what was written, unless it has replaced the target.
  func discard() {
    let (file, replacement) = state.withLock { state in
      state.isDiscarded = true
      return (state.file.take(), state.replacement.take())
    }
    try? file?.close()
    replacement?.discard()
  }

  private func failure(_ error: any Error) -> RequestError {
    var failure = failure("\(error)")
    failure.cause = error
    return failure
  }

  private func failure(_ reason: String) -> RequestError {
    RequestError(.cannotWrite, "'\(target)' cannot be written: \(reason).")
  }
}
