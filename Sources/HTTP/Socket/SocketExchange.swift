import Foundation
import Streams
import Synchronization

/// One request under way: its bytes, its deadlines, and who waits for its answer.
///
/// The parts of the answer are delivered away from the loop, for user code may block, and one batch after the other:
/// whoever reads them hands over the next batch only when the last one is through, or not at all.
///
/// `@unchecked Sendable`: constants, atomics and what has a lock, but for `decoding`, which one batch after the other touches.
final class SocketExchange: @unchecked Sendable {
  let request: HTTPRequest
  let route: Route
  /// How often the request was sent anew, after its connection turned out to be dead.
  let replays = Atomic<Int>(0)

  private let head: [UInt8]
  private let rest: Data
  private let observer: AnyObserver<HTTPResponsePart>
  private let decoding: ResponseDecoding
  let start = Instant.now
  /// Where the observer is to be called, if some task awaits.
  let mailbox = TaskMailbox.current
  /// When the server last gave a sign of life, in nanoseconds from the start; below zero while there is no connection,
  /// and `busy` while the observer has what the server sent, and the server cannot be to blame.
  private let lastSign = Atomic<Int64>(-1)
  private static let busy = Int64.max
  /// Since when it waits for its present connection, in nanoseconds from the start.
  private let waitingSince = Atomic<Int64>(0)
  private let isStopped = Atomic<Bool>(false)
  private let progress: ProgressReport?
  private let departure = Departure()

  /// Bodies up to this size are copied behind the head: one piece is sent for less than two.
  private static let largestJoinedBody = 4 << 10

  /// Throws `invalidRequest` where the request cannot be written.
  init(
    _ request: HTTPRequest, route: Route, writer: RequestWriter, observer: AnyObserver<HTTPResponsePart>
  ) throws(RequestError) {
    self.route = route
    self.observer = observer
    decoding = ResponseDecoding(isHead: request.method == .head)
    progress = request.onProgress.map { ProgressReport($0, toSend: request.body?.count ?? 0) }
    let body = request.body ?? Data()
    let isJoined = body.count <= Self.largestJoinedBody
    var head = try writer.head(of: request, reserving: isJoined ? body.count : 0)
    // Not `+=`, which takes a Data byte by byte, as it does raw bytes.
    if isJoined { body.withUnsafeBytes { head.append(contentsOf: $0.bindMemory(to: UInt8.self)) } }
    self.head = head
    rest = isJoined ? Data() : body
    departure.noteWaiting()
    request.departure?.value.noteWaiting()
    self.request = request  // last, so that it is moved, and not copied
  }

  /// The request's bytes.
  var outbound: Outbound { Outbound(head, rest) }

  /// What a parser has to know of the request.
  var parserRequest: ResponseParser.Request { request.method == .head ? .head : .other }

  // MARK: - Deadlines

  /// The earliest time at which a deadline may pass, whatever happens.
  var earliestDeadline: Instant? {
    let timeouts = request.timeouts
    let shortest = earlier(earlier(timeouts.connect, timeouts.idle), timeouts.total)
    return shortest.map { start + $0 }
  }

  /// The deadline that had passed before the start, for a time of zero or less.
  var passedDeadline: ExchangeDeadlines.Phase? {
    nextDeadline.flatMap { $0.instant <= start ? $0.phase : nil }
  }

  /// The deadline that comes next as things stand.
  var nextDeadline: (phase: ExchangeDeadlines.Phase, instant: Instant)? {
    var timeouts = request.timeouts
    let sign = lastSign.load(ordering: .relaxed)
    if sign == Self.busy { timeouts.idle = nil }
    var deadlines = ExchangeDeadlines(timeouts, start: start)
    deadlines.noteLoss(at: start + .nanoseconds(waitingSince.load(ordering: .relaxed)))
    if sign >= 0 { deadlines.noteSign(at: sign == Self.busy ? start : start + .nanoseconds(sign)) }
    return deadlines.next
  }

  /// When to look again whether a deadline has passed: whatever happens after `now`, no deadline passes before.
  func nextLook(after now: Instant) -> Instant? {
    // Either time may begin to count only after this look: as soon as there is a connection, or the observer is done; and
    // as soon as a connection is lost.
    let later = earlier(request.timeouts.idle, request.timeouts.connect)
    return earlier(nextDeadline?.instant, later.map { now + $0 })
  }

  /// The error for a deadline that has passed; what has not left by then will not.
  func error(for phase: ExchangeDeadlines.Phase) -> RequestError {
    let isUnsent = departure.cancel()
    return ExchangeDeadlines(request.timeouts, start: start).error(
      for: phase, request, cause: isUnsent ? NothingWasSent() : nil)
  }

  /// Whether the request may go out; to be asked before its first byte. No more where a deadline has passed before.
  func depart() -> Bool { departure.depart() && request.departure?.value.depart() ?? true }

  /// Takes note that there is a connection, or that the server has taken or sent something.
  func noteSign(at instant: Instant = .now) {
    lastSign.store(instant.nanoseconds - start.nanoseconds, ordering: .relaxed)
  }

  /// Takes note that the connection is lost, and another one is waited for.
  func noteLoss(at instant: Instant = .now) {
    waitingSince.store(instant.nanoseconds - start.nanoseconds, ordering: .relaxed)
    lastSign.store(-1, ordering: .relaxed)
  }

  /// The same while the observer may have what the server sent.
  func noteSignUnlessBusy() {
    if lastSign.load(ordering: .relaxed) != Self.busy { noteSign() }
  }

  // MARK: - Delivery

  /// Takes note of the connection that the request goes out on.
  func didConnect(isReused: Bool) {
    request.noteConnection?(isReused)
    // Not here, for this may be the loop's thread.
    if let onConnected = request.onConnected { DispatchQueue.global().async { onConnected(isReused) } }
  }

  /// Takes note of how many bytes of the request are written.
  func didSend(_ count: Int) {
    progress?.didSend(count - (head.count + rest.count - (request.body?.count ?? 0)))
  }

  /// Takes note that the observer has gone; a batch that is being delivered ends. False where the exchange had ended.
  func stop() -> Bool {
    !isStopped.exchange(true, ordering: .relaxed)
  }

  /// Takes note that parts are on their way to the observer, and the server is not to blame for what time that takes.
  func noteDelivery() {
    lastSign.store(Self.busy, ordering: .relaxed)
  }

  /// Brings parts to the observer; false where that was the end.
  func deliver(_ parts: [HTTPResponsePart]) -> Bool {
    guard emit(parts) else { return false }
    noteSign()
    return true
  }

  /// Brings the last parts to the observer, and the end.
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

  /// Ends with an error, after parts that came before it.
  func fail(_ error: RequestError, after parts: [HTTPResponsePart] = []) {
    guard parts.isEmpty || emit(parts) else { return }
    isStopped.store(true, ordering: .relaxed)
    end(with: error)
  }

  /// False where the parts are not of the coding that they claim: then the observer knows, and disposes.
  private func emit(_ parts: [HTTPResponsePart]) -> Bool {
    do throws(RequestError) {
      for part in parts {
        progress?.didReceive(part)
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
