import HTTPClientCore
import Streams
import SystemBase

/// One connection to a server, with at most one exchange at a time.
///
/// The thread that leases the connection writes the request at once. The loop writes what the socket had no room for,
/// and reads the response. Only the loop closes: a thread that finds the connection broken notifies the loop, which
/// decides what to do.
///
/// `@unchecked Sendable`: except for `shared`, which has a lock of its own, all variables are used only on the loop's
/// thread.
final class Connection: LoopHandler, @unchecked Sendable {
  let route: Route
  let madeAt = Instant.now
  /// The part of the greatest lifetime that the connection lives: connections that were made together do not all end
  /// together.
  let lifetimeShare = Double.random(in: 0.9...1)

  /// Its lock is held for moments: during system calls on the socket, which do not block, for at most 64 KiB at a time. It is
  /// never held together with another lock except those of the progress report, of an upload and of the TLS tickets, under
  /// which nothing else is called.
  let shared = Locked(Shared())

  // Only on the loop's thread. Nothing that is called while one of these is being changed uses them, so the checks for
  // overlapping accesses are off.
  var engine: SocketEngine?
  var loop: EventLoop?
  private var opening: ConnectionOpening?
  var open: OpenSocket?
  @exclusivity(unchecked) var parser: HTTP1Parser?
  /// The parts that have arrived and are not yet on their way to the observer, and how many bytes they took.
  @exclusivity(unchecked) var parts: [HTTPResponsePart] = []
  @exclusivity(unchecked) var partsSize = 0
  /// Set if the whole response has come before the whole request was sent: whether another request may follow.
  var mayReuseOnceSent: Bool?
  var isPaused = false
  /// Whether a turn of reading is on its way.
  private var isReadDue = false
  /// How often reading has paused; the number identifies a pause.
  var pauses = 0
  private var isClosed = false
  /// Whether the peer may have stopped sending; initially true, as that may go unnoticed while connecting.
  var isOver = true

  init(route: Route) {
    self.route = route
  }

  /// How many turns of writing follow one another before others have theirs.
  private static let mostTurns = 16

  /// Writes the request of the exchange that has leased the connection, on the caller's thread. A body that comes from a
  /// file or a stream may make pauses, after which the loop has to flush.
  func start(_ exchange: SocketExchange, on loop: EventLoop? = nil) -> Start {
    switch shared.withLock({ $0.condition() }) {
    case .dead(let error): return .dead(error)
    // The loop has closed the connection, and takes care of the exchange.
    case .gone: return .sent
    case .ready(let isReused):
      // Without the lock, because observers have clocks of their own, which may be user code; and before any response
      // can arrive.
      exchange.didConnect(isReused: isReused)
      let whenReady = exchange.request.upload.flatMap { $0.hasToWait ? flushing(on: loop) : nil }
      return writeOn(shared.withLock { $0.start(exchange, whenReady) }) ?? .sent
    }
  }

  /// Writes more, in a few turns, between which the lock is free; `nil` if there is nothing to write to.
  private func writeOn(_ start: Start?) -> Start? {
    var start = start
    for _ in 1..<Self.mostTurns {
      guard case .more? = start else { break }
      start = shared.withLock { $0.flush() }
    }
    return start
  }

  /// Whether it has carried an exchange.
  var isUsed: Bool { shared.withLock { $0.isUsed } }

  private func flushing(on loop: EventLoop?) -> @Sendable () -> Void {
    { [weak self, weak loop] in
      guard let self else { return }
      loop?.submit { self.flush() }
    }
  }

  // MARK: - On the loop's thread

  /// Begins to connect.
  func open(by engine: SocketEngine, on loop: EventLoop) {
    // Two threads may have submitted the pool's decisions in the other order: the connection may already have been
    // closed because it is no longer needed.
    guard !isClosed else { return }
    self.engine = engine
    self.loop = loop
    let opening = ConnectionOpening(route, by: engine, on: loop) { [weak self] in self?.didOpen($0) }
    self.opening = opening
    opening.start()
  }

  private func didOpen(_ result: Result<OpenConnection, RequestError>) {
    opening = nil
    switch result {
    case .success(let opened):
      open = opened.socket
      if let liveness = engine?.liveness, route.unixPath == nil { opened.socket.socket.set(liveness) }
      loop?.hand(opened.socket.token, to: self)
      shared.withLockUnchecked { $0.channel = opened.channel }
      engine?.didOpen(self)
      // The events of bytes that arrived before this reading began are gone, so read now.
      read()
      isOver = isPaused || isReadDue
    case .failure(let error):
      engine?.didFailToOpen(self, error)
    }
  }

  func ready(_ event: PollEvent) {
    if event.isOver { isOver = true }
    if event.isWritable { flush() }
    if event.isReadable { read() }
  }

  func loopStopped() {
    close()
  }

  /// Continues writing.
  func flush() {
    switch writeOn(shared.withLock { $0.flush() }) {
    case .blocked: break
    // Let others have their turn.
    case .more: loop?.submit { [self] in flush() }
    case .dead(let error): fail(error)
    case .broken: read()
    case .sent: completeOnceSent()
    case nil: break
    }
  }

  /// Closes a connection that is no longer of use, and reports to the engine what is known about its exchange.
  func fail(_ error: RequestError) {
    guard open != nil else { return }
    let parts = takeParts()
    let hasReceived = parser != nil
    let hasSent = close()
    engine?.didLose(self, ConnectionLoss(error: error, parts: parts, hasSent: hasSent, hasReceived: hasReceived))
  }

  /// Closes; returns whether any part of the current request may have reached the server.
  @discardableResult
  func close() -> Bool {
    isClosed = true
    opening?.cancel()
    opening = nil
    parser = nil
    _ = takeParts()
    let (exchange, hasSent) = shared.withLock { ($0.close(), $0.hasSent) }
    // After a cancellation this may be the last reference to the exchange: release what its request holds elsewhere.
    if let exchange { loop?.deliver(to: nil) { withExtendedLifetime(exchange) {} } }
    // Nobody writes from here on, so the descriptor can be closed, and its number reused.
    if let open { loop?.close(open.socket, open.token) }
    open = nil
    engine?.didClose()
    return hasSent
  }
}

extension Connection {
  /// What the threads that write requests share with the loop: the channel, and its current exchange.
  struct Shared {
    var channel: (any ByteChannel)?
    private(set) var exchange: SocketExchange?
    /// An exchange of which nothing could be sent, until the connection is closed.
    private var unsentExchange: SocketExchange?
    /// When writing of the exchange's request began.
    private(set) var startTime = Instant.now
    private(set) var hasSent = false
    private var outbound = Outbound()
    private var writeError: RequestError?
    private(set) var isUsed = false
    /// Whether an upload had nothing to send.
    private var isWaiting = false

    /// How much is written while the lock is held, even if the socket could take more.
    private static let largestTurn = 64 << 10

    /// Whether a request may be written.
    func condition() -> Condition {
      guard let channel else { return .gone }
      switch channel.condition() {
      case .quiet: break
      case .closed: return .dead(.cut("before a request was sent"))
      // No request was sent yet, so this cannot be a response. On a new connection, leave it to the parser to say what
      // it is.
      case .readable: if isUsed { return .dead(.cut("before a request was sent")) }
      }
      return .ready(isReused: isUsed)
    }

    /// Writes the request of the exchange that has leased the connection.
    mutating func start(_ exchange: SocketExchange, _ whenReady: (@Sendable () -> Void)?) -> Start {
      // The loop has closed the connection, and takes care of the exchange.
      guard let channel else { return .sent }
      self.exchange = exchange
      startTime = .now
      outbound = exchange.outbound(whenReady: whenReady)
      isWaiting = false
      exchange.recordActivity(at: startTime)
      return write(channel)
    }

    /// Continues writing; returns `nil` if there is nothing to write to.
    mutating func flush() -> Start? {
      guard let channel, writeError == nil else { return nil }
      let before = outbound.writtenCount
      let start = write(channel)
      if outbound.writtenCount > before { exchange?.recordActivityUnlessBusy() }
      return start
    }

    private mutating func write(_ channel: any ByteChannel) -> Start {
      let end = outbound.writtenCount + Self.largestTurn
      while !outbound.isEmpty {
        if outbound.writtenCount >= end { return .more }
        switch outbound.withNext(channel.write) {
        case .taken(let count):
          if isWaiting { exchange?.recordActivity() }
          isWaiting = false
          hasSent = true
          outbound.advance(by: count)
          exchange?.didSend(outbound.writtenCount)
        case .blocked where outbound.isWaiting:
          // The server is not to blame for the time that this takes.
          exchange?.recordDelivery()
          isWaiting = true
          if case .failed(let error) = channel.flush() { return didFailToWrite(error) }
          return .blocked
        case .blocked:
          return .blocked
        case .failed(let error):
          return didFailToWrite(error)
        }
      }
      switch channel.flush() {
      case .done: return .sent
      case .blocked: return .blocked
      case .failed(let error): return didFailToWrite(error)
      }
    }

    private mutating func didFailToWrite(_ error: RequestError) -> Start {
      guard hasSent else {
        // The pool still has the exchange. What the server has sent unasked must not be taken for its response.
        unsentExchange = exchange.take()
        outbound = Outbound()
        return .dead(error)
      }
      writeError = error
      return .broken
    }

    /// What has become of the part of the request that was not written.
    enum Rest {
      case none
      case toSend
      /// An upload could not be read, or was not what was announced.
      case unreadable(RequestError)
    }

    var rest: Rest {
      if let writeError { return writeError.kind == .cannotRead ? .unreadable(writeError) : .none }
      return channel == nil || outbound.isEmpty ? .none : .toSend
    }

    /// Continues reading; when nothing is left to read, an earlier error of writing is reported.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
      let outcome = channel?.read(into: buffer) ?? .blocked
      guard case .blocked = outcome, let writeError else { return outcome }
      return .failed(writeError)
    }

    /// Records that the response has arrived, and returns whether another request may follow: if the response allows
    /// it, the whole request was sent, and nothing came after the response.
    mutating func finish(mayReuse: Bool, using buffer: UnsafeMutableRawBufferPointer) -> Bool {
      var isReusable = mayReuse && outbound.isEmpty && writeError == nil
      if isReusable, case .done? = channel?.flush() {} else { isReusable = false }
      // Further bytes would be read as the response to the next request; with TLS they may already be there, in a
      // record of their own.
      if isReusable, case .blocked? = channel?.read(into: buffer) {} else { isReusable = false }
      exchange = nil
      outbound = Outbound()
      hasSent = false
      isUsed = true
      return isReusable
    }

    /// Closes the channel, so that nothing can be sent any more. Returns its exchange, to be released without any lock.
    mutating func close() -> SocketExchange? {
      channel?.close()
      channel = nil
      outbound = Outbound()
      return exchange.take() ?? unsentExchange.take()
    }
  }

  /// The state of a connection when a request is to be written.
  enum Condition {
    case ready(isReused: Bool)
    /// The connection is dead; the loop has to close it.
    case dead(RequestError)
    /// The loop has closed it.
    case gone
  }

  /// The outcome of beginning to write a request.
  enum Start {
    /// Everything is written; the loop reads the response.
    case sent
    /// The socket is full; the loop has to flush.
    case blocked
    /// There is more than is written in one turn; the loop has to flush.
    case more
    /// Nothing was sent; the connection is dead, and the loop has to close it.
    case dead(RequestError)
    /// Something was sent before the connection broke; the loop has to read what there is.
    case broken
  }
}

// Only on the loop's thread.
extension Connection {
  /// Resumes reading after the batch of a pause has been delivered.
  private func resume(after pause: Int) {
    guard isPaused, pause == pauses else { return }
    isPaused = false
    read()
  }

  /// How much is read before the observer gets it: a piece that arrives in several parts, such as TLS records, is
  /// delivered in one go.
  private static let largestDelivery = 64 << 10
  /// How many reads follow one another before others have their turn, if they bring too little to deliver, such as heads
  /// of interim responses.
  private static let mostReads = 16

  /// Reads until the socket is empty, there is enough to deliver first, or others are to have their turn.
  func read() {
    guard let loop, !isPaused, !isReadDue else { return }
    shared.withLock { $0.channel?.beginReading(isOver: isOver) }
    var reads = 0
    while !isPaused, open != nil {
      guard reads < Self.mostReads else { return readSoon(on: loop) }
      reads += 1
      let (outcome, exchange) = shared.withLock { ($0.read(into: loop.buffer), $0.exchange) }
      switch outcome {
      case .bytes(let count):
        guard let exchange else { return fail(.notHTTP("it came before the request")) }
        consume(UnsafeRawBufferPointer(rebasing: loop.buffer[..<count]), for: exchange)
      case .blocked:
        if let exchange, !parts.isEmpty { return deliver(to: exchange) }
        return
      case .end(let isAuthentic):
        return didEnd(isAuthentic: isAuthentic)
      case .failed(let error):
        return fail(error)
      }
    }
  }

  /// Reads on in a turn that comes behind those of others. What arrives meanwhile brings no further turn.
  private func readSoon(on loop: EventLoop) {
    isReadDue = true
    loop.submit { [self] in
      isReadDue = false
      read()
    }
  }

  private func consume(_ bytes: UnsafeRawBufferPointer, for exchange: SocketExchange) {
    // The parser is made and used in place: copying it costs more than its work.
    if parser == nil {
      exchange.recordResponse()
      parser = HTTP1Parser(
        answering: exchange.parserRequest, keepsInterim: exchange.request.onInterimResponse != nil)
    }
    // What comes after an early response is no part of it, and no response to anything else.
    if mayReuseOnceSent != nil {
      mayReuseOnceSent = false
      return
    }
    do throws(RequestError) {
      let count = try parser?.consume(bytes, into: &parts) ?? 0
      partsSize += count
      for head in parser?.takeInterim() ?? [] { exchange.didReceive(interim: head) }
      if let parser, parser.isComplete {
        let mayReuse = parser.allowsReuse && count == bytes.count
        // A server that responds early with success wants the rest of the request, too; one that refuses does not (RFC
        // 9110, section 10.1.1; RFC 9112, section 9.5).
        switch parser.isSuccess ? shared.withLock({ $0.rest }) : .none {
        case .toSend:
          mayReuseOnceSent = mayReuse
          exchange.recordActivity()
        // The server has taken something else for the request than was meant.
        case .unreadable(let error): fail(error)
        case .none: complete(exchange, mayReuse: mayReuse)
        }
      } else if partsSize >= Self.largestDelivery, !parts.isEmpty {
        deliver(to: exchange)
      } else {
        exchange.recordActivity()
      }
    } catch {
      fail(error)
    }
  }

  /// Delivers the parts; reading resumes when the observer has taken them.
  private func deliver(to exchange: SocketExchange) {
    // A whole response that has arrived by then needs no place of its own.
    if let engine, case .head(let head)? = parts.first, exchange.request.isReadAsItArrives(head),
      !engine.didBecomeStream(exchange), head.isEndless
    {
      _ = takeParts()
      return fail(.tooManyStreams(engine.mostStreams, to: exchange.request.origin, reached: .maybe))
    }
    isPaused = true
    pauses += 1
    exchange.recordDelivery()
    loop?.deliver(to: exchange.mailbox) { [self, loop, pauses, parts = takeParts()] in
      if exchange.deliver(parts) { loop?.submit { self.resume(after: pauses) } }
    }
  }

  func takeParts() -> [HTTPResponsePart] {
    defer { (parts, partsSize) = ([], 0) }
    return parts
  }

  private func didEnd(isAuthentic: Bool) {
    let exchange = shared.withLock { $0.exchange }
    guard let exchange, var parser else { return fail(.cut("before it responded")) }
    do throws(RequestError) {
      try parser.finish()
      guard isAuthentic else { throw .cut("without saying that the response is complete") }
      complete(exchange, mayReuse: false)
    } catch {
      fail(error)
    }
  }

  /// Completes an exchange whose response came before its request was sent, once that is done.
  func completeOnceSent() {
    guard let mayReuse = mayReuseOnceSent, let exchange = shared.withLock({ $0.exchange }) else { return }
    complete(exchange, mayReuse: mayReuse)
  }

  private func complete(_ exchange: SocketExchange, mayReuse: Bool) {
    guard let loop else { return }
    mayReuseOnceSent = nil
    let parts = takeParts()
    let keepAlive = parser?.keepAliveTimeout
    parser = nil
    let (isReusable, startTime) = shared.withLock { shared in
      (shared.finish(mayReuse: mayReuse, using: loop.buffer), shared.startTime)
    }
    if !isReusable { close() }
    engine?.didComplete(
      exchange, on: self, since: startTime, parts, isReusable: isReusable, keepAlive: keepAlive)
  }
}

/// What is known about an exchange when its connection breaks.
struct ConnectionLoss {
  let error: RequestError
  /// The parts that arrived before the break, and were not delivered.
  let parts: [HTTPResponsePart]
  /// Whether any of the request may have reached the server.
  let hasSent: Bool
  /// Whether any of the response has arrived.
  let hasReceived: Bool
}
