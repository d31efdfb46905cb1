import AsyncHTTPClient
import Foundation
import HTTPClientCore
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import Streams
import Synchronization

/// Passes the client's callbacks for one request to an observer, on a queue of its own, and watches the deadlines.
final class Exchange: HTTPClientResponseDelegate, @unchecked Sendable {
  private enum Work {
    case none, task(HTTPClient.Task<Void>), stopped
  }

  private let request: HTTPRequest
  private let message: HTTPClient.Request
  private let client: HTTPClient
  private let observer: AnyObserver<HTTPResponsePart>
  /// Not confined to the queue, where an observer may be busy: stopping must not wait for it.
  private let work = Mutex(Work.none)
  private let start = ContinuousClock.now

  // The variables are touched only on `queue`, which is serial.
  private let queue = DispatchQueue(label: "AsyncHTTPClientTransport.Exchange")
  private var lastSign: ContinuousClock.Instant?
  private var progress: HTTPProgress
  private var timer: (any DispatchSourceTimer)?
  /// How much of the body this attempt has sent.
  private var sent = 0
  private var isWritten = false
  private var hasHead = false
  private var isReplay = false
  private var isOver = false

  init(
    _ request: HTTPRequest, as message: HTTPClient.Request, on client: HTTPClient,
    observer: AnyObserver<HTTPResponsePart>
  ) {
    self.request = request
    self.message = message
    self.client = client
    self.observer = observer
    progress = HTTPProgress(totalToSend: request.body?.count ?? 0)
  }

  /// Sends the request, and watches its deadlines.
  func begin() {
    queue.async { [self] in
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.setEventHandler { [weak self] in self?.checkDeadlines() }
      self.timer = timer
      checkDeadlines()
      timer.activate()
      if !isOver { send() }
    }
  }

  /// Gives up the request, and sends no more events.
  func stop() {
    cancel()
    queue.async { [self] in end() }
  }

  private func send() {
    (isWritten, sent) = (false, 0)
    let task = client.execute(request: message, delegate: self)
    let isStopped = work.withLock { work in
      if case .stopped = work { return true }
      work = .task(task)
      return false
    }
    if isStopped { task.cancel() }
  }

  private func cancel() {
    let work = work.withLock { work in
      defer { work = .stopped }
      return work
    }
    if case .task(let task) = work { task.cancel() }
  }

  private func end() {
    isOver = true
    timer?.cancel()
    timer = nil
  }

  private func finish(_ error: RequestError?) {
    guard !isOver else { return }
    end()
    if let error {
      cancel()
      observer.onError(error.named(request.operationName))
    } else {
      observer.onCompleted()
    }
  }

  // MARK: - Callbacks of the client

  func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
    queue.async { [self] in
      isWritten = true
      noteSign()
    }
  }

  func didSendRequestPart(task: HTTPClient.Task<Void>, _ part: IOData) {
    queue.async { [self] in
      noteSign()
      sent += part.readableBytes
      guard sent > progress.sent else { return }
      progress.sent = sent
      request.onProgress?(progress)
    }
  }

  func didReceiveHead(task: HTTPClient.Task<Void>, _ head: NIOHTTP1.HTTPResponseHead) -> EventLoopFuture<Void> {
    deliver(on: task.eventLoop) { [self] in
      hasHead = true
      progress.totalToReceive = head.headers.first(name: "Content-Length").flatMap { Int($0) }
      observer.onNext(.head(try HTTPClientCore.HTTPResponseHead(head, isToHead: request.method == .head)))
    }
  }

  func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
    deliver(on: task.eventLoop) { [self] in
      progress.received += buffer.readableBytes
      if buffer.readableBytes > 0 { observer.onNext(.body(Data(buffer: buffer))) }
    }
  }

  func didFinishRequest(task: HTTPClient.Task<Void>) throws {
    queue.async { [self] in finish(nil) }
  }

  func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
    queue.async { [self] in
      let failure = RequestError(asyncHTTPClient: error)
      let mayRepeat = request.isReplayable || !isWritten || error is ClosedBeforeRequest
      guard !isOver, failure.kind == .connectionLost, !hasHead, !isReplay, mayRepeat else { return finish(failure) }
      isReplay = true
      send()
    }
  }

  /// The client reads on when the future succeeds: what a slow observer has not taken stays with the server.
  private func deliver(on loop: any EventLoop, _ body: @escaping @Sendable () throws -> Void) -> EventLoopFuture<Void> {
    let promise = loop.makePromise(of: Void.self)
    queue.async { [self] in
      defer { promise.succeed() }
      guard !isOver else { return }
      do {
        try body()
        request.onProgress?(progress)
        noteSign()
      } catch {
        finish(RequestError(asyncHTTPClient: error))
      }
    }
    return promise.futureResult
  }

  // MARK: - Deadlines

  private func noteSign() {
    let isFirst = lastSign == nil
    lastSign = .now
    if isFirst { checkDeadlines() }
  }

  private func checkDeadlines() {
    guard !isOver else { return }
    let timeouts = request.timeouts
    let silence = lastSign.map { sign in timeouts.idle.map { sign + $0 } } ?? timeouts.connect.map { start + $0 }
    guard let next = [timeouts.total.map { start + $0 }, silence].compactMap(\.self).min() else { return }
    let left = next - .now
    if left <= .zero {
      finish(
        RequestError(.timedOut, "'\(request.url.shownSafely)' took too long: try again, or allow more time."))
    } else {
      timer?.schedule(deadline: .now() + left / .seconds(1), leeway: .milliseconds(5))
    }
  }
}

extension HTTPClientCore.HTTPResponseHead {
  /// Throws if the response cannot be used, since it changes the protocol or is encoded.
  fileprivate init(_ head: NIOHTTP1.HTTPResponseHead, isToHead: Bool) throws {
    guard head.status != .switchingProtocols else {
      throw RequestError(.badResponse, "The server changed the protocol, which was not requested.")
    }
    let coding = head.headers.first(name: "Content-Encoding") ?? "identity"
    let mayHaveBody = !isToHead && head.status != .noContent && head.status != .notModified
    guard coding.lowercased() == "identity" || !mayHaveBody else {
      throw RequestError(.badResponse, "The response is encoded as '\(coding)', which was not requested.")
    }
    // A field may contain tabs (RFC 9110, section 5.5), which `HTTPField` does not take.
    let fields = try head.headers.map { field in
      try HTTPField(name: field.name, value: field.value.replacing("\t", with: " "))
    }
    self.init(status: Int(head.status.code), headers: HTTPClientCore.HTTPHeaders(fields))
  }
}
