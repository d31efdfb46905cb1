import HTTPClientCore
import Streams
import SystemBase

/// A connection that speaks HTTP/1.1 (RFC 9112): one exchange after the other.
final class HTTP1Connection: HTTPConnection {
  // Nothing that is called while one of these is being changed uses them, so the checks for overlapping accesses are off.

  @exclusivity(unchecked) private(set) var exchange: SocketExchange?
  /// An exchange of which nothing could be sent, until the connection is closed.
  private var unsentExchange: SocketExchange?
  @exclusivity(unchecked) private(set) var isUsed = false

  /// When writing of the request began.
  @exclusivity(unchecked) private var start = Instant.now
  @exclusivity(unchecked) private var outbound = Outbound()
  @exclusivity(unchecked) private var headSize = 0
  @exclusivity(unchecked) private var hasSent = false
  @exclusivity(unchecked) private var writeError: RequestError?

  @exclusivity(unchecked) private var parser: HTTP1Parser?
  /// The parts that have arrived and are not yet on their way to the observer, and how many bytes they took.
  @exclusivity(unchecked) private var parts: [HTTPResponsePart] = []
  @exclusivity(unchecked) private var partsSize = 0
  /// Set once the whole response has come: whether another request may follow.
  @exclusivity(unchecked) private var mayReuse: Bool?
  /// Whether the whole response has come before the whole request was sent, and the rest is still to be sent.
  @exclusivity(unchecked) private var isEarly = false

  /// Bodies up to this size are copied behind the head: sending one piece is cheaper than sending two.
  private static let largestJoinedBody = 4 << 10
  /// How much is read before the observer gets it: a piece that arrives in several parts, such as TLS records, is
  /// delivered in one go.
  private static let largestDelivery = 64 << 10

  var version: String { "1.1" }
  var limit: Int { 1 }
  var load: Int { exchange == nil ? 0 : 1 }
  var isSequential: Bool { true }
  var wakeTime: Instant? { nil }

  // MARK: - Writing

  func begin(_ exchange: SocketExchange, whenReady: (@Sendable () -> Void)?) {
    self.exchange = exchange
    start = .now
    let body = exchange.request.body ?? Data()
    let isJoined = body.count <= Self.largestJoinedBody
    var head = RequestWriter(for: exchange).head(of: exchange.request, reserving: isJoined ? body.count : 0)
    headSize = head.count
    // Not `+=`, which copies a Data byte by byte, and raw bytes, too.
    if isJoined { body.withUnsafeBytes { head.append(contentsOf: $0.bindMemory(to: UInt8.self)) } }
    outbound = Outbound(head, isJoined ? Data() : body, exchange.uploadReader(whenReady: whenReady))
    exchange.recordActivity(at: start)
  }

  /// Never called: a connection with one exchange is closed for it.
  func cancel(_ exchange: SocketExchange) {}

  func withNext(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> WriteOutcome) -> WriteOutcome? {
    if writeError != nil { return .blocked }
    if outbound.isEmpty { return nil }
    // In place: copying it costs more than its work.
    let outcome = withUnsafeMutablePointer(to: &outbound) { $0.pointee.withNext(body) }
    if case .blocked = outcome, outbound.isWaiting {
      exchange?.recordPause()
      return nil
    }
    exchange?.recordEndOfPause()
    return outcome
  }

  func didWrite(_ count: Int) {
    exchange?.recordActivityUnlessBusy()
    hasSent = true
    outbound.advance(by: count)
    exchange?.didSend(outbound.writtenCount - headSize)
    if outbound.isEmpty { exchange?.didSendAll() }
  }

  func didFlush() -> Bool {
    guard isEarly, outbound.isEmpty else { return false }
    isEarly = false
    return true
  }

  func didFailToWrite(_ error: RequestError) -> WritingOutcome {
    guard hasSent else {
      // The pool still has the exchange. What the server has sent unasked must not be taken for its response.
      unsentExchange = exchange.take()
      outbound = Outbound()
      return .dead(error)
    }
    // A response that is whole counts, unless the server may have taken something else for the request than was meant.
    if isEarly, error.kind != .cannotRead { (mayReuse, isEarly) = (false, false) }
    writeError = error
    return .read
  }

  // MARK: - Reading

  func receive(_ bytes: UnsafeRawBufferPointer) throws(RequestError) {
    guard let exchange else { throw .notHTTP("it came before the request") }
    // The parser is made and used in place: copying it costs more than its work.
    if parser == nil {
      exchange.recordResponse()
      parser = HTTP1Parser(
        answering: exchange.request.method == .head ? .head : .other,
        keepsInterim: exchange.request.onInterimResponse != nil)
    }
    // What comes after an early response is no part of it, and no response to anything else.
    if mayReuse != nil {
      mayReuse = false
      return
    }
    let count = try parser?.consume(bytes, into: &parts) ?? 0
    partsSize += count
    for head in parser?.takeInterim() ?? [] { exchange.didReceive(interim: head) }
    guard parser?.isComplete ?? false else {
      // Parts that are about to be delivered are recorded then.
      if partsSize < Self.largestDelivery || parts.isEmpty { exchange.recordActivity() }
      return
    }
    // A server that responds early with success wants the rest of the request, too; one that refuses does not (RFC
    // 9110, section 10.1.1; RFC 9112, section 9.5).
    if parser?.isSuccess ?? false {
      if let writeError {
        // The server has taken something else for the request than was meant.
        if writeError.kind == .cannotRead { throw writeError }
      } else if !outbound.isEmpty {
        isEarly = true
        exchange.recordActivity()
      }
    }
    mayReuse = (parser?.allowsReuse ?? false) && count == bytes.count
  }

  func receiveEnd(isAuthentic: Bool) throws(RequestError) {
    guard exchange != nil, parser != nil else { throw .cut("before it responded") }
    try parser?.finish()
    if isEarly, let writeError { throw writeError }
    // One whose end is known was complete before.
    guard isAuthentic || isEarly else { throw .cut("without saying that the response is complete") }
    (mayReuse, isEarly) = (false, false)
  }

  func didFailToRead(_ error: RequestError) -> ConnectionEvent? {
    guard isEarly, writeError == nil, let exchange else { return nil }
    isEarly = false
    return .completed(complete(exchange, mayReuse: false))
  }

  /// Never called: reading pauses until the observer has taken everything.
  func didDeliver(_ count: Int, of exchange: SocketExchange) {}

  func next(isEmpty: Bool) throws(RequestError) -> ConnectionEvent? {
    guard let exchange else {
      if isEmpty, let writeError { throw writeError }
      return nil
    }
    if let mayReuse, !isEarly { return .completed(complete(exchange, mayReuse: mayReuse)) }
    // Once nothing is left to read, an earlier error of writing is reported.
    if isEmpty, let writeError { throw writeError }
    guard isEmpty || partsSize >= Self.largestDelivery, !parts.isEmpty else { return nil }
    return .parts(takeParts(), exchange)
  }

  private func complete(_ exchange: SocketExchange, mayReuse: Bool) -> ExchangeCompletion {
    let completion = ExchangeCompletion(
      exchange: exchange, parts: takeParts(), start: start,
      mayReuse: mayReuse && outbound.isEmpty && writeError == nil, keepAlive: parser?.keepAliveTimeout)
    self.exchange = nil
    parser = nil
    self.mayReuse = nil
    outbound = Outbound()
    hasSent = false
    isUsed = true
    return completion
  }

  private func takeParts() -> [HTTPResponsePart] {
    defer { (parts, partsSize) = ([], 0) }
    return parts
  }

  /// Never called: the deadlines of the exchange suffice.
  func wake(at now: Instant) {}

  /// Never called: there is no message for it.
  func end() {}

  func close() -> [ExchangeLoss] {
    guard let exchange = exchange.take() ?? unsentExchange.take() else { return [] }
    return [
      ExchangeLoss(
        exchange: exchange, parts: takeParts(), reached: hasSent ? .maybe : .never, hasReceived: parser != nil)
    ]
  }
}
