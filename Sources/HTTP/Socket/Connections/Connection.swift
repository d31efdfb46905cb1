import Foundation

/// One connection to a server, and the exchange that it is for at a time.
///
/// Whoever leases it writes the request at once, on its own thread; the loop writes what the socket had no room for,
/// reads the answer, and alone closes. So whoever finds it broken tells the loop, which decides what becomes of it.
///
/// `@unchecked Sendable`: each variable is touched either under `lock` or on the loop's thread alone, as is said below.
final class Connection: LoopHandler, @unchecked Sendable {
  let route: Route

  // Under `lock`, which is held during system calls that do not block, and never with another lock.
  let lock = NSLock()
  var channel: (any ByteChannel)?
  var outbound = Outbound()
  var exchange: SocketExchange?
  /// When the exchange's request was written.
  var startTime = ContinuousClock.now
  var hasSent = false
  var writeError: RequestError?
  var isUsed = false

  // On the loop's thread alone.
  var engine: SocketEngine?
  var loop: EventLoop?
  private var opening: ConnectionOpening?
  var open: OpenSocket?
  var parser: ResponseParser?
  /// What has come and is not yet on its way to the observer, and how many bytes it came in.
  var parts: [HTTPResponsePart] = []
  var partsSize = 0
  var isPaused = false
  private var isClosed = false
  /// Whether the peer may have sent its last; while connecting that may have come unseen.
  var isOver = true

  init(route: Route) {
    self.route = route
  }

  // MARK: - Writing, from any thread

  /// How the writing of a request began.
  enum Start {
    /// What could be written is; the loop reads the answer.
    case sent
    /// The socket is full: the loop is to flush.
    case blocked
    /// Nothing was sent: the connection is dead, and the loop is to close it.
    case dead(RequestError)
    /// Something was sent, and then it broke: the loop is to read what there is.
    case broken
  }

  /// Writes the request of the exchange that has leased the connection.
  func start(_ exchange: SocketExchange) -> Start {
    lock.lock()
    defer { lock.unlock() }
    // Closed by the loop, which takes care of the exchange.
    guard let channel else { return .sent }
    switch channel.condition() {
    case .quiet: break
    case .closed: return .dead(.cut("before it was asked"))
    // Nothing was asked, so this would be an answer to no question. The first time the parser can tell what it is.
    case .readable: if isUsed { return .dead(.cut("before it was asked")) }
    }
    self.exchange = exchange
    startTime = .now
    outbound = exchange.outbound
    exchange.didConnect(at: startTime, isReused: isUsed)
    return write(channel)
  }

  private func write(_ channel: any ByteChannel) -> Start {
    while !outbound.isEmpty {
      switch outbound.withNext(channel.write) {
      case .taken(let count):
        hasSent = true
        outbound.advance(by: count)
        exchange?.didSend(outbound.count)
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

  private func didFailToWrite(_ error: RequestError) -> Start {
    guard hasSent else { return .dead(error) }
    writeError = error
    return .broken
  }

  // MARK: - On the loop's thread

  /// Begins to connect.
  func open(by engine: SocketEngine, on loop: EventLoop) {
    // Two threads may have submitted what the pool said: first the closing of one that is not needed any more.
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
      loop?.hand(opened.socket.token, to: self)
      lock.withLock { channel = opened.channel }
      engine?.didOpen(self)
      // What came while nobody looked has had its event.
      read()
      isOver = isPaused
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

  /// Writes on.
  func flush() {
    let start: Start? = lock.withLock {
      guard let channel, writeError == nil else { return nil }
      let before = outbound.count
      let start = write(channel)
      if outbound.count > before { exchange?.noteSignUnlessBusy() }
      return start
    }
    switch start {
    case .blocked: if let open { loop?.rearm(open.socket, .writing) }
    case .dead(let error): fail(error)
    case .broken: read()
    case .sent, nil: break
    }
  }

  /// Closes a connection that is of no more use, and tells the engine what is known of its exchange.
  func fail(_ error: RequestError) {
    guard open != nil else { return }
    let parts = takeParts()
    let hasReceived = parser != nil
    let hasSent = close()
    engine?.didLose(self, ConnectionLoss(error: error, parts: parts, hasSent: hasSent, hasReceived: hasReceived))
  }

  /// Closes, and gives whether any of the present request may have reached the server.
  @discardableResult
  func close() -> Bool {
    isClosed = true
    opening?.cancel()
    opening = nil
    parser = nil
    _ = takeParts()
    // With the channel goes the chance to send: whoever comes later sends nothing.
    let hasSent = lock.withLock {
      channel?.close()
      channel = nil
      exchange = nil
      outbound = Outbound()
      return self.hasSent
    }
    // Nobody writes from here on: the descriptor may go, and its number to somebody else.
    if let open { loop?.close(open.socket, open.token) }
    open = nil
    engine?.didClose()
    return hasSent
  }
}

/// What is known when a connection breaks.
struct ConnectionLoss {
  let error: RequestError
  /// What came before the break, and was not delivered.
  let parts: [HTTPResponsePart]
  /// Whether any of the request may have reached the server.
  let hasSent: Bool
  /// Whether any of the answer has come.
  let hasReceived: Bool
}
