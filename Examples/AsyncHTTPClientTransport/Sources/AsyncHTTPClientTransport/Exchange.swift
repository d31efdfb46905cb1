import AsyncHTTPClient
import Foundation
import HTTP
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import Streams

/// Brings what async-http-client tells of one request to an observer, on a queue of its own, and watches the deadlines.
final class Exchange: HTTPClientResponseDelegate, @unchecked Sendable {
  // All variables are touched on `queue` alone, which is serial.
  private let queue = DispatchQueue(label: "AsyncHTTPClientTransport.Exchange")
  private let request: HTTPRequest
  private let observer: AnyObserver<HTTPResponsePart>
  private let start = ContinuousClock.now
  private var lastSign: ContinuousClock.Instant?
  private var isOver = false
  private var timer: (any DispatchSourceTimer)?
  private var cancel: () -> Void = {}

  init(_ request: HTTPRequest, observer: AnyObserver<HTTPResponsePart>) {
    self.request = request
    self.observer = observer
  }

  // MARK: - What the client tells

  func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
    queue.async { [self] in lastSign = .now }
  }

  func didSendRequestPart(task: HTTPClient.Task<Void>, _ part: IOData) {
    queue.async { [self] in lastSign = .now }
  }

  func didReceiveHead(task: HTTPClient.Task<Void>, _ head: NIOHTTP1.HTTPResponseHead) -> EventLoopFuture<Void> {
    deliver(on: task.eventLoop) { [self] in
      let coding = head.headers.first(name: "Content-Encoding") ?? "identity"
      guard coding.lowercased() == "identity" || request.method == .head else {
        throw RequestError(.badResponse, "The answer is coded as '\(coding)', which was not asked for.")
      }
      let fields = try head.headers.map { try HTTPField(name: $0.name, value: $0.value) }
      observer.onNext(.head(HTTP.HTTPResponseHead(status: Int(head.status.code), headers: HTTP.HTTPHeaders(fields))))
    }
  }

  func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
    deliver(on: task.eventLoop) { [self] in
      if buffer.readableBytes > 0 { observer.onNext(.body(Data(buffer: buffer))) }
    }
  }

  func didFinishRequest(task: HTTPClient.Task<Void>) throws {
    queue.async { [self] in finish(nil) }
  }

  func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
    queue.async { [self] in finish(RequestError(error)) }
  }

  /// The client reads on when the future succeeds: what a slow observer has not taken stays with the server.
  private func deliver(on loop: any EventLoop, _ body: @escaping @Sendable () throws -> Void) -> EventLoopFuture<Void> {
    let promise = loop.makePromise(of: Void.self)
    queue.async { [self] in
      do {
        if !isOver {
          try body()
          lastSign = .now
        }
        promise.succeed()
      } catch {
        finish(RequestError(error))
        promise.fail(error)
      }
    }
    return promise.futureResult
  }

  private func finish(_ error: RequestError?) {
    guard !isOver else { return }
    stopWatching()
    if let error { observer.onError(error.named(request.operationName)) } else { observer.onCompleted() }
  }

  // MARK: - Deadlines

  /// Watches the deadlines, and cancels where one passes.
  func watch(_ cancel: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      guard !isOver else { return }
      self.cancel = cancel
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.setEventHandler { [weak self] in self?.checkDeadlines() }
      self.timer = timer
      checkDeadlines()
      timer.activate()
    }
  }

  /// Says nothing more.
  func stop() {
    queue.async { [self] in stopWatching() }
  }

  private func stopWatching() {
    isOver = true
    timer?.cancel()
    timer = nil
    cancel = {}
  }

  private func checkDeadlines() {
    let timeouts = request.timeouts
    var deadlines = [timeouts.total.map { start + $0 }]
    if let lastSign {
      deadlines.append(timeouts.idle.map { lastSign + $0 })
    } else {
      deadlines.append(timeouts.connect.map { start + $0 })
    }
    guard let next = deadlines.compactMap({ $0 }).min() else {
      timer?.schedule(deadline: .now() + .milliseconds(100))
      return
    }
    let left = next - .now
    if left <= .zero {
      let cancel = self.cancel
      finish(RequestError(.timedOut, "'\(request.url.shownSafely)' took too long: try again, or allow more time."))
      cancel()
    } else {
      timer?.schedule(deadline: .now() + min(left / .seconds(1), 0.1), leeway: .milliseconds(5))
    }
  }
}
