import HTTPClientCore
import Streams
import SystemBase

/// Opens a connection: the socket, then, if the route needs them, a tunnel through a proxy and TLS. Used only on the
/// loop's thread.
final class ConnectionOpening: LoopHandler, @unchecked Sendable {
  typealias Completion = (Result<OpenConnection, RequestError>) -> Void

  /// All properties are used only on the loop's thread.
  private let route: Route
  private let engine: SocketEngine
  private let loop: EventLoop
  private var completion: Completion?
  private var attempt: ConnectionAttempt?
  private var socket: OpenSocket?
  private var tunnel: ProxyTunnel?
  private var channel: TLSChannel?
  private var timer: LoopTimer?
  private var steps = OpeningSteps()

  /// The time limit for opening a connection, which applies even if no exchange waits for it any more.
  private static let longest = Duration.seconds(120)

  init(_ route: Route, by engine: SocketEngine, on loop: EventLoop, _ completion: @escaping Completion) {
    self.route = route
    self.engine = engine
    self.loop = loop
    self.completion = completion
  }

  func start() {
    timer = loop.schedule(at: .now + Self.longest) { [weak self] in
      self?.fail(RequestError(.cannotConnect, "It took longer than \(Self.longest) to connect."))
    }
    let attempt = ConnectionAttempt(
      host: route.tunnel?.host ?? route.host, port: route.tunnel?.port ?? route.port, unixPath: route.unixPath,
      loop: loop, resolver: engine.resolver, silent: engine.silent
    ) { [weak self] in self?.didConnect($0) }
    self.attempt = attempt
    attempt.start()
  }

  /// Cancels the opening, without calling back.
  func cancel() {
    completion = nil
    cleanUp()
  }

  private func didConnect(_ result: Result<OpenSocket, RequestError>) {
    attempt = nil
    switch result {
    case .success(let socket):
      self.socket = socket
      (steps.lookedUp, steps.connected) = (socket.lookedUp, .now)
      loop.hand(socket.token, to: self)
      guard let proxy = route.tunnel else { return startTLS() }
      tunnel = ProxyTunnel(PlainChannel(socket.socket), to: route, through: proxy)
      advance()
    case .failure(let error):
      fail(error)
    }
  }

  func ready(_ event: PollEvent) {
    advance()
  }

  func loopStopped() {
    cancel()
  }

  private func advance() {
    if tunnel != nil {
      advanceTunnel()
    } else if channel != nil {
      handshake()
    }
  }

  private func advanceTunnel() {
    switch tunnel?.advance(using: loop.buffer) {
    case .done:
      tunnel = nil
      steps.tunnelled = .now
      startTLS()
    case .failed(let error): fail(error)
    case .blocked, nil: break
    }
  }

  private func startTLS() {
    guard route.isSecure else {
      guard let socket else { return }
      let channel = PlainChannel(socket.socket)
      return finish(
        OpenConnection(socket: socket, channel: channel, applicationProtocol: route.clearProtocol, steps: steps))
    }
    engine.tls.prepare { [self] result in
      loop.submit { [self] in didPrepare(result) }
    }
  }

  private func didPrepare(_ result: Result<TLSContext, RequestError>) {
    guard completion != nil, let socket else { return }
    do throws(RequestError) {
      let session = try TLSSession(
        try result.get(), host: route.host, port: route.port, offering: route.offer)
      channel = TLSChannel(socket.socket, session)
      handshake()
    } catch {
      fail(error)
    }
  }

  private func handshake() {
    guard let channel, let socket else { return }
    switch channel.handshake(using: loop.buffer) {
    case .done:
      steps.secured = .now
      finish(
        OpenConnection(
          socket: socket, channel: channel, applicationProtocol: channel.applicationProtocol, steps: steps))
    case .blocked: break
    case .failed(let error): fail(error)
    }
  }

  private func finish(_ connection: OpenConnection) {
    guard let completion else { return }
    socket = nil
    self.completion = nil
    cleanUp()
    completion(.success(connection))
  }

  private func fail(_ error: RequestError) {
    guard let completion else { return }
    self.completion = nil
    cleanUp()
    var error = error
    // No request is sent before the end of the opening. What is insecure is left as it is, since it is for the user to
    // decide about, and not for those who send again what was never sent.
    if error.kind == .connectionLost { error.reached = .never }
    completion(.failure(error))
  }

  private func cleanUp() {
    attempt?.cancel()
    if let timer { loop.cancel(timer) }
    if let socket { loop.close(socket.socket, socket.token) }
    (attempt, tunnel, channel, socket, timer) = (nil, nil, nil, nil, nil)
  }
}

/// Decides which of a host's addresses to try next (RFC 8305, sections 4 and 5): IPv6 and IPv4 alternate, each a
/// quarter of a second after the one before it, or at once if that one failed. The first to connect wins.
///
/// The look-up before it waits for the addresses of both families, as `getaddrinfo` does, not for one (section 3).
struct ConnectionRace {
  /// The delay between two attempts (section 5).
  static let attemptDelay = Duration.milliseconds(250)

  private var waiting: [SocketAddress]
  private var running = 0
  private(set) var failures: [String] = []
  /// Why the attempts failed: the last error that is not a shortage of this machine, if there is one.
  private(set) var error: SystemError?

  /// Takes the addresses in the system's order, the preferred first; those that are known to be silent are tried last.
  init(_ addresses: [SocketAddress], silent: SilentAddresses = SilentAddresses()) {
    // Section 4: the families alternate, beginning with the preferred one.
    let preferred = addresses.filter { $0.family == addresses.first?.family }
    let others = addresses.filter { $0.family != addresses.first?.family }
    var waiting: [SocketAddress] = []
    for index in 0..<max(preferred.count, others.count) {
      if index < preferred.count { waiting.append(preferred[index]) }
      if index < others.count { waiting.append(others[index]) }
    }
    self.waiting = silent.moveLast(of: waiting, at: .now)
  }

  /// Whether all addresses have failed.
  var isLost: Bool { waiting.isEmpty && running == 0 }

  /// The next address to try: at the start, when an attempt has failed, and when the delay has passed.
  mutating func next() -> SocketAddress? {
    guard !waiting.isEmpty else { return nil }
    running += 1
    return waiting.removeFirst()
  }

  /// Records that an attempt has failed.
  mutating func fail(_ address: SocketAddress, _ error: SystemError) {
    running -= 1
    failures.append("\(address): \(error)")
    if self.error == nil || !error.isShortage { self.error = error }
  }
}

/// An open connection, ready for a request.
struct OpenConnection {
  let socket: OpenSocket
  let channel: any ByteChannel
  /// What the server chose to speak, if it was asked and did.
  let applicationProtocol: ApplicationProtocol?
  let steps: OpeningSteps
}

/// A connected socket that the loop watches.
struct OpenSocket {
  let socket: Socket
  let token: LoopToken
  /// When the addresses of its host were known, if they had to be looked up.
  var lookedUp: Instant?
}

/// Makes the TLS context, and looks from time to time whether its files have changed, on a thread that may block: this
/// reads and parses the system's certificates.
final class TLSPreparation: Sendable {
  typealias Completion = @Sendable (Result<TLSContext, RequestError>) -> Void

  private enum State {
    case none
    case running([Completion])
    /// The context was ready at that time.
    case ready(Instant)
  }

  /// How long it is not looked whether files have changed.
  private static let pause = Duration.seconds(1)
  private let context: TLSContext
  private let state = Locked(State.none)

  /// `whenReloaded` is called whenever changed files have been read, on a thread of its own.
  init(_ configuration: TLSConfiguration, whenReloaded: (@Sendable (RequestError?) -> Void)?) {
    context = TLSContext(configuration) { error in
      if let whenReloaded { ThreadPool.shared.run { whenReloaded(error) } }
    }
  }

  /// Calls back with the context: synchronously if it was ready within the last second, otherwise on another thread.
  /// After a failure, the next call tries again.
  func prepare(_ completion: @escaping Completion) {
    let (isReady, isFirst) = state.withLock { state in
      switch state {
      case .ready(let instant) where Instant.now - instant < Self.pause: return (true, false)
      case .running(let waiting):
        state = .running(waiting + [completion])
        return (false, false)
      case .none, .ready:
        state = .running([completion])
        return (false, true)
      }
    }
    if isReady { completion(.success(context)) }
    if isFirst { ThreadPool.shared.run { [self] in prepare() } }
  }

  private func prepare() {
    let result = Result { () throws(RequestError) in
      try context.prepare()
      return context
    }
    let isReady = if case .success = result { true } else { false }
    let completions = state.withLock { state -> [Completion] in
      guard case .running(let waiting) = state else { return [] }
      state = isReady ? .ready(.now) : .none
      return waiting
    }
    for completion in completions { completion(result) }
  }
}
