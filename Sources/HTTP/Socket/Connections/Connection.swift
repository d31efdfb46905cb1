import Foundation
import Streams

/// One connection to a server, and the exchange that it is for at a time.
///
/// Whoever leases it writes the request at once, on its own thread; the loop writes what the socket had no room for,
/// reads the answer, and alone closes. So whoever finds it broken tells the loop, which decides what becomes of it.
///
/// `@unchecked Sendable`: but for `shared`, which has a lock of its own, all variables are the loop's thread's alone.
final class Connection: LoopHandler, @unchecked Sendable {
  let route: Route

  /// Its lock is held during system calls that do not block, and with no other lock but the progress report's.
  let shared = Guarded(Shared())

  // On the loop's thread alone. What is called while one is changed touches none of them, so that accesses need no check
  // for overlaps.
  var engine: SocketEngine?
  var loop: EventLoop?
  private var opening: ConnectionOpening?
  var open: OpenSocket?
  @exclusivity(unchecked) var parser: ResponseParser?
  /// What has come and is not yet on its way to the observer, and how many bytes it came in.
  @exclusivity(unchecked) var parts: [HTTPResponsePart] = []
  @exclusivity(unchecked) var partsSize = 0
  var isPaused = false
  /// How often the reading has paused: a pause's end is known by its number.
  var pauses = 0
  private var isClosed = false
  /// Whether the peer may have sent its last; while connecting that may have come unseen.
  var isOver = true

  init(route: Route) {
    self.route = route
  }

  /// Writes the request of the exchange that has leased the connection, on the thread of whoever asks for it.
  func start(_ exchange: SocketExchange) -> Start {
    switch shared.withLock({ $0.condition() }) {
    case .dead(let error): return .dead(error)
    // Closed by the loop, which takes care of the exchange.
    case .gone: return .sent
    case .ready(let isReused):
      // Under no lock, for who measures has a clock of its own; and before anybody could answer.
      exchange.didConnect(isReused: isReused)
      return shared.withLock { $0.start(exchange) }
    }
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
      shared.withLock { $0.channel = opened.channel }
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
    switch shared.withLock({ $0.flush() }) {
    case .blocked: if let open { loop?.rearm(open.socket, .writing) }
    // Others have their turn.
    case .more: loop?.submit { [self] in flush() }
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
    let (exchange, hasSent) = shared.withLock { ($0.close(), $0.hasSent) }
    // Whoever cancelled it may have let go of it: what its request holds is let go of elsewhere.
    if let exchange { loop?.deliver(to: nil) { withExtendedLifetime(exchange) {} } }
    // Nobody writes from here on: the descriptor may go, and its number to somebody else.
    if let open { loop?.close(open.socket, open.token) }
    open = nil
    engine?.didClose()
    return hasSent
  }
}
