import HTTPClientCore
import Streams
import SystemBase

/// A connection that speaks HTTP/2 (RFC 9113): it carries many exchanges at a time, each in a stream of its own.
final class HTTP2Connection: HTTPConnection {
  /// An exchange that has a stream.
  private struct Carried {
    let exchange: SocketExchange
    /// When its request began to be written.
    let start: Instant
    /// What is still to be read of its upload.
    var upload: HTTPUploadReader?
    /// How many bytes of the request's body were recorded as sent.
    var sentCount = 0
    /// The parts that have arrived and are not yet on their way to the observer, and how many bytes they have.
    var parts: [HTTPResponsePart] = []
    var partsSize = 0
    /// Whether any of the response has arrived, and whether all of it has.
    var hasReceived = false
    var hasEnded = false
    /// Whether the response says that the server has done what was asked.
    var isSuccess = false
  }

  // Nothing that is called while one of these is being changed uses them, so the checks for overlapping accesses are off.

  @exclusivity(unchecked) private var machine = HTTP2Machine()
  @exclusivity(unchecked) private var carried: [UInt32: Carried] = [:]
  /// The streams of exchanges that observers may yet take bytes of.
  @exclusivity(unchecked) private var streams: [ObjectIdentifier: UInt32] = [:]
  /// The streams of which something of the request's body is still to be sent.
  @exclusivity(unchecked) private var sending: [UInt32] = []
  /// The streams that have parts, and whether nothing more has arrived, so that they are not to be collected any longer.
  @exclusivity(unchecked) private var ready = Fifo<UInt32>()
  @exclusivity(unchecked) private var isAllRead = false
  /// What was found out elsewhere than in what has arrived.
  @exclusivity(unchecked) private var events = Fifo<ConnectionEvent>()
  @exclusivity(unchecked) private(set) var isUsed = false
  /// Why nothing more can be sent, and why the connection is of no use any more once all events are taken.
  @exclusivity(unchecked) private var writeError: RequestError?
  @exclusivity(unchecked) private var ending: RequestError?

  /// When the server last sent something, and when it was asked for a sign of life since.
  @exclusivity(unchecked) private var lastSign = Instant.now
  @exclusivity(unchecked) private var pingTime: Instant?

  /// How much of an upload is read ahead of what the server takes.
  private static let uploadAhead = 64 << 10
  /// How much of a body is collected before its observer gets it.
  private static let largestDelivery = 64 << 10
  /// How many exchanges a server may allow.
  private static let mostExchanges = 1 << 20
  /// For how long a server may be silent while there are exchanges, before it is asked for a sign of life, and how long it
  /// then has.
  private static let silence = Duration.seconds(20)
  private static let patience = Duration.seconds(10)

  var version: String { "2" }
  var limit: Int { PeerSettings.assumedStreams }
  var isSequential: Bool { false }

  // MARK: - Writing

  func begin(_ exchange: SocketExchange, whenReady: (@Sendable () -> Void)?) {
    let (start, request) = (Instant.now, exchange.request)
    let hasBody = request.upload != nil || !(request.body ?? Data()).isEmpty
    let head = HTTP2RequestHead(request, defaults: exchange.defaults)
    guard ending == nil, writeError == nil, let stream = machine.open(head, isEnd: !hasBody) else {
      // The server may have changed its mind since the exchange was given this connection.
      let error = RequestError(
        .connectionLost, "The server takes no more requests on this connection.", reached: .never)
      return events.append(.lost(ExchangeLoss(exchange: exchange, isRefused: true), error))
    }
    if carried.isEmpty { lastSign = start }
    carried[stream] = Carried(
      exchange: exchange, start: start, upload: exchange.uploadReader(isFramed: false, whenReady: whenReady))
    streams[ObjectIdentifier(exchange)] = stream
    exchange.recordActivity(at: start)
    guard hasBody else { return }
    sending.append(stream)
    if request.upload == nil { machine.send(request.body ?? Data(), on: stream, isEnd: true) }
  }

  func cancel(_ exchange: SocketExchange) {
    guard let stream = streams.removeValue(forKey: ObjectIdentifier(exchange)) else { return }
    carried[stream] = nil
    machine.cancel(stream)
  }

  func withNext(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> WriteOutcome) -> WriteOutcome? {
    if writeError != nil { return .blocked }
    for stream in sending where carried[stream]?.upload != nil { readUpload(of: stream) }
    return machine.withOutput { body($0, UnsafeRawBufferPointer(start: nil, count: 0)) }
  }

  /// Reads as much of an upload as is to wait in the machine.
  private func readUpload(of stream: UInt32) {
    guard let (exchange, upload) = carried[stream].flatMap({ one in one.upload.map { (one.exchange, $0) } }) else {
      return
    }
    do throws(RequestError) {
      while let progress = machine.progress(of: stream), progress.queued < Self.uploadAhead {
        let wasWaiting = upload.isWaiting
        switch try upload.withNext({ _, bytes in Data(bytes) }) {
        case .lent(let bytes):
          _ = upload.advance(by: bytes.count)
          machine.send(bytes, on: stream, isEnd: upload.isAtEnd)
          if wasWaiting { exchange.recordActivity() }
          if upload.isAtEnd { return finishUpload(of: stream) }
        case .waiting:
          // The server is not to blame for the time that this takes.
          exchange.recordDelivery()
          return
        case .end:
          machine.send(Data(), on: stream, isEnd: true)
          return finishUpload(of: stream)
        }
      }
    } catch {
      if let loss = loss(of: stream, { $0.reached = error.reached }) { events.append(.lost(loss, error)) }
      machine.cancel(stream)
    }
  }

  private func finishUpload(of stream: UInt32) { carried[stream]?.upload = nil }

  func didWrite(_ count: Int) {
    machine.didWrite(count)
    guard !sending.isEmpty else { return }
    sending.removeAll { stream in
      guard let one = carried[stream], let progress = machine.progress(of: stream) else { return true }
      if progress.written > one.sentCount {
        carried[stream]?.sentCount = progress.written
        one.exchange.recordActivityUnlessBusy()
        one.exchange.didSend(progress.written)
      }
      return progress.isWritten
    }
  }

  func didFlush() -> Bool { !events.isEmpty }

  func didFailToWrite(_ error: RequestError) -> WritingOutcome {
    // What has arrived is read first.
    writeError = error
    return .read
  }

  // MARK: - Reading

  func receive(_ bytes: UnsafeRawBufferPointer) throws(RequestError) {
    let now = Instant.now
    (lastSign, pingTime, isAllRead) = (now, nil, false)
    do throws(HTTP2ConnectionError) {
      try machine.receive(bytes, at: now)
    } catch {
      // What came before is valid.
      ending = ending ?? error.error
    }
  }

  func receiveEnd(isAuthentic: Bool) throws(RequestError) {
    let isCut = machine.receiveEnd() || !isAuthentic
    ending = ending ?? .cut(isCut ? "before it had responded" : "while it was idle")
  }

  func didDeliver(_ count: Int, of exchange: SocketExchange) {
    guard let stream = streams[ObjectIdentifier(exchange)] else { return }
    machine.consumed(count, on: stream)
    if carried[stream] == nil, machine.progress(of: stream) == nil { streams[ObjectIdentifier(exchange)] = nil }
  }

  func next(isEmpty: Bool) throws(RequestError) -> ConnectionEvent? {
    while let event = machine.nextEvent() {
      if let event = take(event) { return event }
    }
    if let event = events.popFirst() { return event }
    if isEmpty { isAllRead = true }
    while isAllRead || ending != nil, let stream = ready.popFirst() {
      if let one = carried[stream], !one.parts.isEmpty { return .parts(takeParts(of: stream), one.exchange) }
    }
    guard let error = ending ?? (isEmpty ? writeError : nil) else { return nil }
    // A response that is whole counts, whether or not the rest of the request is still sent.
    if let stream = carried.first(where: \.value.hasEnded)?.key { return complete(stream) }
    throw error
  }

  /// Takes what has arrived; returns the event that comes of it, if one does already.
  private func take(_ event: HTTP2Event) -> ConnectionEvent? {
    switch event {
    case .informational(let stream, let head):
      guard let exchange = carried[stream]?.exchange else { return nil }
      exchange.recordResponse()
      exchange.recordActivityUnlessBusy()
      carried[stream]?.hasReceived = true
      if exchange.request.onInterimResponse != nil { exchange.didReceive(interim: head) }
    case .head(let stream, let head):
      carried[stream]?.exchange.recordResponse()
      carried[stream]?.hasReceived = true
      carried[stream]?.isSuccess = head.isSuccess
      add(.head(head), of: 0, to: stream)
    case .data(let stream, let data):
      guard carried[stream] != nil else {
        machine.consumed(data.count, on: stream)
        return nil
      }
      add(.body(data), of: data.count, to: stream)
      guard let one = carried[stream], one.partsSize >= Self.largestDelivery else { return nil }
      return .parts(takeParts(of: stream), one.exchange)
    case .trailers, .pong, .goAway: break
    case .end(let stream, let isClosed):
      carried[stream]?.hasEnded = true
      if isClosed { return complete(stream) }
      // A server that responds early with success wants the rest of the request, too; one that refuses does not (section
      // 8.1).
      guard let one = carried[stream], !one.isSuccess else { return nil }
      let completion = complete(stream)
      machine.cancel(stream)
      return completion
    case .closed(let stream): return complete(stream)
    case .reset(let stream, let reset):
      return loss(of: stream) { loss in
        loss.isRefused = reset.isUnprocessed
        loss.reached = reset.isUnprocessed ? .never : .maybe
        loss.requiresHTTP1 = reset.cause == .peer && reset.code == .http11Required
      }.map { .lost($0, reset.error) }
    case .limit(let limit):
      // A server that takes none for now is not one that takes no more: what it is asked nevertheless is refused here, and
      // waits before it is asked again.
      return .limit(machine.isGoingAway ? 0 : min(max(limit, 1), Self.mostExchanges))
    }
    return nil
  }

  private func add(_ part: HTTPResponsePart, of size: Int, to stream: UInt32) {
    if carried[stream]?.parts.isEmpty ?? false { ready.append(stream) }
    carried[stream]?.parts.append(part)
    carried[stream]?.partsSize += size
  }

  private func takeParts(of stream: UInt32) -> [HTTPResponsePart] {
    guard let parts = carried[stream]?.parts else { return [] }
    carried[stream]?.parts = []
    carried[stream]?.partsSize = 0
    return parts
  }

  private func complete(_ stream: UInt32) -> ConnectionEvent? {
    guard let one = carried.removeValue(forKey: stream) else { return nil }
    isUsed = true
    // The last parts are not recorded when they are taken.
    machine.consumed(one.partsSize, on: stream)
    if machine.progress(of: stream) == nil { streams[ObjectIdentifier(one.exchange)] = nil }
    return .completed(
      ExchangeCompletion(
        exchange: one.exchange, parts: one.parts, start: one.start, mayReuse: !machine.isGoingAway, keepAlive: nil))
  }

  /// Takes an exchange from the connection, and says what is known about it.
  private func loss(of stream: UInt32, _ change: (inout ExchangeLoss) -> Void) -> ExchangeLoss? {
    guard let one = carried.removeValue(forKey: stream) else { return nil }
    streams[ObjectIdentifier(one.exchange)] = nil
    var loss = ExchangeLoss(exchange: one.exchange, parts: one.parts, hasReceived: one.hasReceived)
    change(&loss)
    return loss
  }

  // MARK: - Time

  var wakeTime: Instant? {
    carried.isEmpty ? nil : pingTime.map { $0 + Self.patience } ?? lastSign + Self.silence
  }

  func wake(at now: Instant) throws(RequestError) {
    guard pingTime == nil else { throw .cut("or has gone: it gives no sign of life") }
    pingTime = now
    _ = machine.ping()
  }

  func close() -> [ExchangeLoss] {
    defer { (carried, streams) = ([:], [:]) }
    return carried.keys.sorted().compactMap { stream in
      let hasLeft = machine.progress(of: stream)?.hasLeft ?? true
      return carried[stream].map { one in
        ExchangeLoss(
          exchange: one.exchange, parts: one.parts, reached: hasLeft ? .maybe : .never, hasReceived: one.hasReceived)
      }
    }
  }
}
