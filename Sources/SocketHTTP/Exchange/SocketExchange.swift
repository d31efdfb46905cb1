import Dispatch
import HTTPClientCore
import Streams
import Synchronization
import SystemBase

/// One request in flight: its deadlines, and the observer of its response. Its bytes are made by the connection that
/// carries it.
///
/// The parts of the response are delivered away from the loop, since user code may block, and one batch at a time: what
/// comes during a delivery stays with the server, or, on a connection that others use, too, in an ``ExchangeBacklog``.
///
/// `@unchecked Sendable`: all properties are constants, atomics or protected by locks, except `decoding`, which is used
/// by one batch after the other, and `backlog`, which is used only on the loop's thread.
final class SocketExchange: @unchecked Sendable {
  let request: HTTPRequest
  let route: Route
  /// How often the request was sent again after its connection turned out to be dead.
  let replays = Atomic<Int>(0)
  /// How often a server has refused the request without processing it.
  let refusals = Atomic<Int>(0)
  /// How often it was sent again for either reason.
  var resendings: Int { replays.load(ordering: .relaxed) + refusals.load(ordering: .relaxed) }

  /// The fields of the request unless it has some with these names.
  let defaults: [(name: String, value: String)]
  /// The proxy that is to pass the request on in clear text, if there is one.
  let forwarder: ProxyServer?
  /// What reads and writes it in another protocol, if it is a CONNECT to one (RFC 8441).
  let channel: StreamChannel?
  private let files: FileAccess
  private let observer: AnyObserver<HTTPResponsePart>
  private let decoding: ResponseDecoding
  let start = Instant.now
  /// The mailbox of the task that awaits the response, if there is one: the observer is called there.
  let mailbox = TaskMailbox.current
  /// The stream that it has, or had last, on a connection in HTTP/2; 0 if none.
  let stream = Atomic<UInt32>(0)
  /// What waits for the observer, on a connection that others use, too.
  var backlog: ExchangeBacklog?
  /// When the server last gave a sign of life, in nanoseconds from the start. Negative while there is no connection;
  /// `busy` while the observer handles what the server has sent, when the server is not to blame for the silence.
  private let lastActivity = Atomic<Int64>(-1)
  private static let busy = Int64.max
  /// Whether the body's source has nothing to send yet, for which the server is not to blame, either.
  private let isPausing = Atomic<Bool>(false)
  /// Whether the server has refused the request, and so needs nothing of the body.
  private let isRefused = Atomic<Bool>(false)
  /// When the wait for the current connection began, in nanoseconds from the start.
  private let waitingSince = Atomic<Int64>(0)
  /// Whether the request is on a connection that was used before, and nothing has come back on it.
  private let isOnSilentConnection = Atomic<Bool>(false)
  private let isStopped = Atomic<Bool>(false)
  private let isWithdrawn = Atomic<Bool>(false)
  private let progress: ProgressReport?
  private let sendGate = SendGate()
  /// When the total begins to count, in nanoseconds from the start. Negative while it does not: during an upload that may
  /// outlast it.
  private let totalStart = Atomic<Int64>(0)
  /// Whether the default total has stopped counting for good, as the response may outlast it.
  private let hasOutlastedTotal = Atomic<Bool>(false)

  /// Throws `invalidRequest` if the request cannot be written.
  init(
    _ request: HTTPRequest, route: Route, defaults: [(name: String, value: String)] = [],
    forwarder: ProxyServer? = nil, channel: StreamChannel? = nil, undecodable: UndecodableBodies = .passedOn,
    files: FileAccess = .onWorkers, observer: AnyObserver<HTTPResponsePart>
  ) throws(RequestError) {
    try request.checkWritable()
    self.route = route
    self.defaults = defaults
    self.forwarder = forwarder
    self.channel = channel
    self.files = files.waiting(upTo: request.timeouts.connect)
    self.observer = observer
    decoding = ResponseDecoding(request, undecodable: undecodable)
    progress = request.onProgress.map { ProgressReport($0, totalToSend: request.bodyCount) }
    var request = request
    if request.mayOutlastTotal {
      totalStart.store(-1, ordering: .relaxed)
      request.timeouts = request.timeouts.withWholeDefaultTotal
    }
    self.request = request  // last, so that it is moved instead of copied
  }

  /// Reads the request's upload, if it has one. `whenReady` is called once there are more bytes of a file or a stream that
  /// had none. `isFramed` says that one whose size is not known is framed in chunks.
  func uploadReader(isFramed: Bool = true, whenReady: (@Sendable () -> Void)?) -> HTTPUploadReader? {
    request.upload.map { HTTPUploadReader($0, files, isFramed: isFramed, whenReady: whenReady ?? {}) }
  }

  /// Checks the files of the request's upload, with calls that may block; calls back on another thread, with the error of
  /// one that cannot be sent.
  func checkFiles(of upload: HTTPUpload, _ completion: @escaping @Sendable (RequestError?) -> Void) {
    // Nobody else is to blame for the time that this takes.
    recordDelivery()
    files.run { [self] in
      do throws(RequestError) {
        try upload.checkFiles(files) { isStopped.load(ordering: .relaxed) }
        completion(nil)
      } catch {
        completion(error)
      }
    }
  }

  /// Whether what it sends has to be waited for.
  var hasToWait: Bool { request.upload?.hasToWait ?? (channel != nil) }

  /// Whether its response is read for long.
  var isStream: Bool { request.isStream || request.isDownload || channel != nil }

  // MARK: - Deadlines

  /// The earliest time at which any deadline can pass.
  var earliestDeadline: Instant? {
    let timeouts = request.timeouts
    let shortest = earlier(earlier(timeouts.connect, timeouts.idle), timeouts.total)
    return shortest.map { start + $0 }
  }

  /// The deadline that comes next in the current state.
  var nextDeadline: (phase: ExchangeDeadlines.Phase, instant: Instant)? {
    var timeouts = request.timeouts
    // The pause first: its end is recorded after the activity.
    let isPausing = isPausing.load(ordering: .acquiring)
    let sign = lastActivity.load(ordering: .relaxed)
    if sign == Self.busy || isPausing { timeouts.idle = nil }
    let sent = totalStart.load(ordering: .relaxed)
    let counts = sent >= 0 && !hasOutlastedTotal.load(ordering: .relaxed)
    timeouts.total = counts ? timeouts.total.map { .nanoseconds(sent) + $0 } : nil
    var deadlines = ExchangeDeadlines(timeouts, start: start)
    deadlines.recordLoss(at: start + .nanoseconds(waitingSince.load(ordering: .relaxed)))
    if sign >= 0 { deadlines.recordActivity(at: sign == Self.busy ? start : start + .nanoseconds(sign)) }
    return deadlines.next
  }

  /// When to check the deadlines again: whatever happens after `now`, none passes before then.
  func nextLook(after now: Instant) -> Instant? {
    // Each deadline may begin to count only after this check: the idle one when there is a connection or the observer
    // is done, the connect one when a connection is lost, the total one when an upload is sent.
    var later = earlier(request.timeouts.idle, request.timeouts.connect)
    if request.mayOutlastTotal { later = earlier(later, request.timeouts.total) }
    return earlier(nextDeadline?.instant, later.map { now + $0 })
  }

  /// The error for a deadline that has passed. A request that has not been sent by then will not be. `shortage` is what this
  /// machine lacks for connections.
  func error(for phase: ExchangeDeadlines.Phase, _ shortage: SystemError? = nil) -> RequestError {
    let isUnsent = sendGate.cancel()
    var error = ExchangeDeadlines(request.timeouts, start: start).error(
      for: phase, request, reached: isUnsent ? .never : .maybe)
    if phase == .connection { error.cause = shortage }
    return error
  }

  /// Whether the request may be sent; to be called before its first byte. False if one of its deadlines has passed first,
  /// which fails it.
  func openSendGate() -> Bool { sendGate.open() }

  /// Records that there is a connection, or that the server has accepted or sent something.
  func recordActivity(at instant: Instant = .now) {
    lastActivity.store(instant.nanoseconds - start.nanoseconds, ordering: .relaxed)
  }

  /// Records that the connection is lost, and that the exchange waits for another one.
  func recordLoss(at instant: Instant = .now) {
    waitingSince.store(instant.nanoseconds - start.nanoseconds, ordering: .relaxed)
    lastActivity.store(-1, ordering: .relaxed)
    isPausing.store(false, ordering: .relaxed)
    if request.mayOutlastTotal { totalStart.store(-1, ordering: .relaxed) }
    isOnSilentConnection.store(false, ordering: .relaxed)
  }

  /// Like `recordActivity`, but does nothing while the observer handles what the server has sent.
  func recordActivityUnlessBusy() {
    let last = lastActivity.load(ordering: .relaxed)
    guard last != Self.busy else { return }
    let now = Instant.now.nanoseconds - start.nanoseconds
    // The observer may be given something on another thread meanwhile.
    _ = lastActivity.compareExchange(expected: last, desired: now, ordering: .relaxed)
  }

  /// Records that the body's source has nothing to send yet.
  func recordPause() {
    isPausing.store(true, ordering: .sequentiallyConsistent)
    // The refusal may be taken note of meanwhile, on another thread.
    if isRefused.load(ordering: .sequentiallyConsistent) { isPausing.store(false, ordering: .releasing) }
  }

  /// Records that it has something again, or has ended, or that the server wants no more.
  func recordEndOfPause() {
    guard isPausing.load(ordering: .sequentiallyConsistent) else { return }
    recordActivityUnlessBusy()
    isPausing.store(false, ordering: .releasing)
  }

  /// Records that the first bytes of a response have arrived.
  func recordResponse() { isOnSilentConnection.store(false, ordering: .relaxed) }

  /// Whether the connection may have been dead when it got the request: it was used before, and nothing has come back.
  var isUnanswered: Bool { isOnSilentConnection.load(ordering: .relaxed) }

  /// When the server last gave a sign of life for it; `nil` while the observer handles what the server has sent.
  var lastSign: Instant? {
    let sign = lastActivity.load(ordering: .relaxed)
    return sign == Self.busy ? nil : start + .nanoseconds(max(sign, 0))
  }

  /// Whether its total time is over, or will be within the few milliseconds by which timers differ.
  var isOverdue: Bool {
    let sent = totalStart.load(ordering: .relaxed)
    guard sent >= 0, let total = request.timeouts.total else { return false }
    return start + .nanoseconds(sent) + total + .milliseconds(-10) <= .now
  }

  // MARK: - Delivery

  /// Reports the connection that the request is sent on, the version of HTTP that it speaks, and how it was opened, unless
  /// it was used before.
  func didConnect(isReused: Bool, version: String, opening: ConnectionOpeningTimes?) {
    isOnSilentConnection.store(isReused, ordering: .relaxed)
    request.context.onConnected?(isReused, version, opening)
    // Not synchronously, because this may be the loop's thread.
    if let onConnected = request.onConnected { DispatchQueue.global().async { onConnected(isReused) } }
  }

  /// Reports an interim response.
  func didReceive(interim head: HTTPResponseHead) {
    // Not synchronously, because this is the loop's thread.
    if let onInterim = request.onInterimResponse { DispatchQueue.global().async { onInterim(head) } }
  }

  /// Records how many bytes of the request's body have been written.
  func didSend(_ count: Int) { progress?.didSend(count) }

  /// Records that the whole body has been written.
  func didSendAll() {
    guard request.mayOutlastTotal else { return }
    totalStart.store(Instant.now.nanoseconds - start.nanoseconds, ordering: .relaxed)
  }

  /// Records that the server wants no more of the body (RFC 9110, section 10.1.1): what is left of it is no excuse any more.
  private func didRefuse() {
    guard request.upload != nil else { return }
    isRefused.store(true, ordering: .sequentiallyConsistent)
    if totalStart.load(ordering: .relaxed) < 0 { didSendAll() }
    recordEndOfPause()
  }

  /// Records that the observer has gone, which also ends a delivery that is in flight. Returns false if the exchange
  /// had already ended.
  func stop() -> Bool {
    !isStopped.exchange(true, ordering: .relaxed)
  }

  /// Records that the exchange is about to lose its connection, or its wait for one, so that its request must not begin any
  /// more.
  func withdraw() { isWithdrawn.store(true, ordering: .releasing) }

  var mayBegin: Bool { !isWithdrawn.load(ordering: .acquiring) }

  /// Whether the observer has gone, or has got the end.
  var hasStopped: Bool { isStopped.load(ordering: .relaxed) }

  /// Records that parts are on their way to the observer: the server is not to blame for the time that this takes.
  func recordDelivery() {
    lastActivity.store(Self.busy, ordering: .relaxed)
  }

  /// Passes parts to the observer; returns false if that ended the exchange.
  func deliver(_ parts: [HTTPResponsePart]) -> Bool {
    guard emit(parts) else { return false }
    recordActivity()
    return true
  }

  /// Passes the last parts to the observer, and completes.
  func complete(_ parts: [HTTPResponsePart]) {
    guard emit(parts) else { return }
    isStopped.store(true, ordering: .relaxed)
    do throws(RequestError) {
      try decoding.finish()
      observer.onCompleted()
    } catch {
      end(with: error)
    }
  }

  /// Fails with an error, after passing on the parts that came before it.
  func fail(_ error: RequestError, after parts: [HTTPResponsePart] = []) {
    guard parts.isEmpty || emit(parts) else { return }
    isStopped.store(true, ordering: .relaxed)
    end(with: error)
  }

  /// Returns false if the parts are not in the coding that they declare; the observer has then received the error.
  private func emit(_ parts: [HTTPResponsePart]) -> Bool {
    if let channel {
      channel.receive(parts)
      return true
    }
    do throws(RequestError) {
      for part in parts {
        progress?.didReceive(part)
        if part.mayOutlastTotal(request.reading) { hasOutlastedTotal.store(true, ordering: .relaxed) }
        if case .head(let head) = part, !head.isSuccess { didRefuse() }
        try decoding.decode(part) { decoded in
          observer.onNext(decoded)
          return !isStopped.load(ordering: .relaxed)
        }
      }
      return true
    } catch {
      end(with: error)
      return false
    }
  }

  private func end(with error: RequestError) {
    observer.onError(error.named(request.operationName))
  }
}

extension FileAccess {
  /// Reads files on the threads of the pool.
  static let onWorkers = FileAccess { ThreadPool.shared.run($0) }
}
