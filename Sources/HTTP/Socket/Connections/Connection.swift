import Foundation
import Streams

/// One connection to a server, with at most one exchange at a time.
///
/// The thread that leases the connection writes the request at once. The loop writes what the socket had no room for,
/// and reads the response. Only the loop closes: a thread that finds the connection broken tells the loop, which
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

  /// Its lock is held during system calls that do not block, and never together with another lock except those of the
  /// progress report and of the TLS tickets, under which nothing else is called.
  let shared = Guarded(Shared())

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
  /// How often reading has paused; the number identifies a pause.
  var pauses = 0
  private var isClosed = false
  /// Whether the peer may have stopped sending; initially true, as that may go unnoticed while connecting.
  var isOver = true

  init(route: Route) {
    self.route = route
  }

  /// Writes the request of the exchange that has leased the connection, on the caller's thread.
  func start(_ exchange: SocketExchange) -> Start {
    switch shared.withLock({ $0.condition() }) {
    case .dead(let error): return .dead(error)
    // The loop has closed the connection, and takes care of the exchange.
    case .gone: return .sent
    case .ready(let isReused):
      // Without the lock, because observers have clocks of their own, which may be user code; and before any response
      // can arrive.
      exchange.didConnect(isReused: isReused)
      return shared.withLock { $0.start(exchange) }
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
      shared.withLock { $0.channel = opened.channel }
      engine?.didOpen(self)
      // The events of bytes that arrived while nobody read are gone, so read now.
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

  /// Continues writing.
  func flush() {
    switch shared.withLock({ $0.flush() }) {
    case .blocked: if let open { loop?.rearm(open.socket, .writing) }
    // Let others have their turn.
    case .more: loop?.submit { [self] in flush() }
    case .dead(let error): fail(error)
    case .broken: read()
    case .sent: completeOnceSent()
    case nil: break
    }
  }

  /// Closes a connection that is no longer of use, and tells the engine what is known about its exchange.
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
