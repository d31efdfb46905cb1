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

  /// The time limit for opening a connection, which applies even if nobody waits for it any more.
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
      startTLS()
    case .blocked: rearm()
    case .failed(let error): fail(error)
    case nil: break
    }
  }

  private func startTLS() {
    guard route.isSecure else {
      if let socket { finish(OpenConnection(socket: socket, channel: PlainChannel(socket.socket))) }
      return
    }
    engine.tls.prepare { [self] result in
      loop.submit { [self] in didPrepare(result) }
    }
  }

  private func didPrepare(_ result: Result<TLSContext, RequestError>) {
    guard completion != nil, let socket else { return }
    do throws(RequestError) {
      let session = try TLSSession(try result.get(), host: route.host, port: route.port)
      channel = TLSChannel(socket.socket, session)
      handshake()
    } catch {
      fail(error)
    }
  }

  private func handshake() {
    guard let channel, let socket else { return }
    switch channel.handshake(using: loop.buffer) {
    case .done: finish(OpenConnection(socket: socket, channel: channel))
    case .blocked: rearm()
    case .failed(let error): fail(error)
    }
  }

  private func rearm() {
    guard let socket else { return }
    loop.rearm(socket.socket, .reading)
    // A socket that nothing is written to would always report that it is writable.
    if tunnel?.hasMoreToSend ?? channel?.hasMoreToSend ?? true { loop.rearm(socket.socket, .writing) }
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
    completion(.failure(error))
  }

  private func cleanUp() {
    attempt?.cancel()
    if let timer { loop.cancel(timer) }
    if let socket { loop.close(socket.socket, socket.token) }
    (attempt, tunnel, channel, socket, timer) = (nil, nil, nil, nil, nil)
  }
}
