import HTTPClientCore
import Streams
import SystemBase

/// One WebSocket connection, from dialling to its end: on a stream of a connection that is there already, if the server takes
/// it there, or else on a connection of its own.
///
///     [dialling ──►] upgrading ──► open ──► lingering ──► ended
///
/// After the end for the observer, the connection lingers until the server ends it, too (RFC 6455, section 7.1.1): to
/// close a socket with unread bytes could destroy the close frame on its way.
///
/// `@unchecked Sendable`: `output` has a lock, under which only the channel is called; `machine` has one, too, under which
/// nothing else is; `inbox` is `Sendable`; all variables are used only on the loop's thread.
final class WebSocketSession: LoopHandler, @unchecked Sendable {
  private enum Phase {
    case waiting
    case dialling(ConnectionOpening)
    case upgrading(any WebSocketUpgrade)
    case open
    case lingering
    case ended
  }

  let request: WebSocketRequest
  let route: Route
  let inbox: WebSocketInbox
  /// The mailbox of the task that awaits an event, if there is one: the observer is called there.
  private let mailbox = TaskMailbox.current
  private let handshake: Handshake
  private let head: [UInt8]
  private let userAgent: String?
  /// `nil` unless the connection is open or lingers.
  let output = Locked<WebSocketOutput?>(nil)
  /// `nil` unless the connection is open.
  private let machine = Locked<WebSocketMachine?>(nil)

  // Only on the loop's thread.
  private var engine: SocketEngine?
  private(set) var loop: EventLoop?
  private var phase = Phase.waiting
  private var socket: OpenSocket?
  /// The exchange of its stream, if it is not on a socket of its own.
  private var exchange: SocketExchange?
  /// The deadline of the phase.
  private var timer: LoopTimer?
  private var heartbeat: Heartbeat?
  private var heartbeatTimer: LoopTimer?
  private var signs = SignsOfLife(at: .now)
  /// When it was last reported that a part of a message has arrived.
  private var lastReport: Instant?
  private var isPaused = false
  /// Whether the machine has not read all that has arrived.
  private var hasUnread = false
  /// Whether a turn of reading is on its way.
  private var isReadDue = false
  private var pauseTimer: LoopTimer?
  /// How long the server may still take, once this side waits for it to close or to end the connection, and what happens then.
  private var closing: ClosePatience?
  private var onSilentEnd: (WebSocketSession, Duration) -> Void = { _, _ in }
  /// Whether the peer may have stopped sending; initially true, as that may go unnoticed while connecting.
  private var isOver = true
  /// How many bytes were thrown away while lingering.
  private var discarded = 0

  /// How long an observer may take for what was read before the loop reads more. Whatever the limits, it takes less than a
  /// second until they are reached, or the next ping.
  private static let patience = Duration.milliseconds(10)
  /// How long the close that answers the server's end waits for the observer, which may have something to send.
  private static let closePatience = Duration.milliseconds(250)
  /// How often it is reported that a part of a message has arrived.
  private static let reportInterval = Duration.seconds(1)
  /// How much a server may send after the end before it is cut off.
  private static let mostDiscarded = 1 << 20

  /// Takes the route of a request to the same server. Throws `invalidRequest` if the request cannot be written.
  init(
    _ request: WebSocketRequest, route: Route, userAgent: String?, observer: AnyObserver<WebSocketEvent>
  ) throws(RequestError) {
    self.request = request
    self.route = route
    handshake = Handshake(request)
    head = try handshake.head(of: request, userAgent: userAgent)
    self.userAgent = userAgent
    inbox = WebSocketInbox(
      observer, limit: request.limits.undelivered, operationName: request.operationName, onPart: request.onPart)
  }

  // MARK: - From any thread

  /// Reads on while the loop has paused, for the thread that delivers: from a fast server, reading and delivering in turns
  /// on two threads takes twice the processor time, which is spent on waking the other one.
  ///
  /// Returns `nil` if the loop is to read again, since nothing has arrived, or more follows from it than to call the
  /// observer.
  private func readOn(into buffer: UnsafeMutableRawBufferPointer, on loop: EventLoop) -> WebSocketInbox.Batch? {
    // What is left of the last read comes first, and the loop reads it.
    guard !machine.withLockUnchecked({ $0?.hasUnread ?? false }) else {
      handBack(to: loop)
      return nil
    }
    let outcome = output.withLockUnchecked { output in
      output?.channel.beginReading(isOver: true)
      return output?.read(into: buffer) ?? .blocked
    }
    guard case .bytes(let size) = outcome else {
      handBack(to: loop) { $0.didRead(outcome) }
      return nil
    }
    var turn = ReadingTurn()
    let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<size])
    guard let effects = receive(bytes, during: &turn) else { return nil }
    guard effects.isForObserver else {
      handBack(to: loop) { $0.carryOut(effects) }
      return nil
    }
    return (effects.events, effects.size)
  }

  /// Records that this side sends its close; returns false if it had before.
  func beginClosing() -> Bool { machine.withLock { $0?.didSendClose() ?? false } }

  /// Makes the loop read again, after what follows from the last read.
  private func handBack(to loop: EventLoop, _ action: @escaping @Sendable (WebSocketSession) -> Void = { _ in }) {
    loop.submit { [self] in resume(action) }
  }

  /// Returns `nil` if the connection has ended for the observer.
  private func receive(
    _ bytes: UnsafeRawBufferPointer, during turn: inout ReadingTurn
  ) -> WebSocketMachine.Effects? {
    machine.withLockUnchecked { machine in
      var effects = WebSocketMachine.Effects()
      guard machine?.receive(bytes, room: inbox.room, during: &turn, into: &effects) != nil else { return nil }
      return effects
    }
  }
}

// Only on the loop's thread.
extension WebSocketSession {
  // MARK: - Connecting

  func begin(by engine: SocketEngine, on loop: EventLoop) {
    guard case .waiting = phase else { return }
    self.engine = engine
    self.loop = loop
    do throws(RequestError) {
      if try !openStream(by: engine, on: loop) { dial(by: engine, on: loop) }
    } catch {
      fail(error)
    }
  }

  /// Begins to connect, to speak HTTP/1.1.
  private func dial(by engine: SocketEngine, on loop: EventLoop) {
    var route = route
    route.allowsHTTP2 = false
    let opening = ConnectionOpening(route, by: engine, on: loop) { [weak self] in self?.didConnect($0) }
    phase = .dialling(opening)
    setTimer(request.timeouts.connect) { $0.fail($0.timedOut(after: $1, waitingFor: "a connection to", .never)) }
    opening.start()
  }

  private func didConnect(_ result: Result<OpenConnection, RequestError>) {
    do throws(RequestError) {
      let connection = try result.get()
      if let engine, route.unixPath == nil { connection.socket.socket.set(engine.liveness) }
      socket = connection.socket
      loop?.hand(connection.socket.token, to: self)
      beginUpgrade(HTTP1WebSocketUpgrade(connection.channel, handshake, head))
      advance()
    } catch {
      fail(error)
    }
  }

  private func beginUpgrade(_ upgrade: some WebSocketUpgrade) {
    phase = .upgrading(upgrade)
    setTimer(request.timeouts.upgrade) { session, limit in
      guard case .upgrading(let upgrade) = session.phase else { return }
      session.fail(upgrade.error(unless: session.timedOut(after: limit, waitingFor: "the upgrade to WebSocket of")))
    }
  }

  /// Asks for a stream of a connection that is there already; returns false if there is none that may be asked for it.
  private func openStream(by engine: SocketEngine, on loop: EventLoop) throws(RequestError) -> Bool {
    guard route.allowsHTTP2 else { return false }
    let stream = StreamChannel(on: loop) { [weak self] in self?.ready($0) }
    let exchange = try SocketExchange(
      Handshake.request(for: request), route: route, defaults: handshake.fields(userAgent: userAgent), channel: stream,
      observer: stream.observer)
    guard engine.startAtOnce(exchange) else { return false }
    self.exchange = exchange
    beginUpgrade(StreamWebSocketUpgrade(stream, handshake))
    return true
  }

  /// Ends the exchange of the stream, if there is one: behind what was written last.
  private func leaveStream() {
    guard let engine, let exchange = exchange.take() else { return }
    exchange.channel?.close()
    loop?.submit { if exchange.stop() { engine.cancel(exchange) } }
  }

  /// Continues the upgrade.
  private func advance() {
    guard let engine, let loop, case .upgrading(var upgrade) = phase else { return }
    let outcome = upgrade.advance(using: loop.buffer, isOver: isOver)
    phase = .upgrading(upgrade)
    switch outcome {
    case .blocked: break
    case .more: soon(on: loop) { $0.advance() }
    case .elsewhere:
      leaveStream()
      dial(by: engine, on: loop)
    case .failed(let error): fail(error)
    case .done(let head, let agreement, let rest): didOpen(head, agreement, upgrade.channel, rest)
    }
  }

  private func didOpen(
    _ head: HTTPResponseHead, _ agreement: Handshake.Agreement, _ channel: any ByteChannel,
    _ rest: UnsafeRawBufferPointer
  ) {
    guard let loop else { return }
    stopTimer()
    phase = .open
    let opened = WebSocketMachine(limit: request.limits.message, compression: agreement.compression)
    machine.withLockUnchecked { $0 = opened }
    let output = WebSocketOutput(
      channel, on: loop, limit: request.limits.unsent, compression: agreement.compression)
    self.output.withLockUnchecked { $0 = output }
    signs.excuse(at: .now)
    if let silence = request.timeouts.ping {
      heartbeat = Heartbeat(after: silence, patience: request.timeouts.pong)
      beat()
    }
    let connection = WebSocketConnection(subprotocol: agreement.subprotocol, head: head) {
      [self] command throws(RequestError) in try perform(command)
    }
    deliver([.opened(connection)], size: 0)
    var turn = ReadingTurn()
    consume(rest, during: &turn)
    // The events of bytes that arrived during the upgrade are gone, so read now.
    read()
    isOver = isPaused || isReadDue
  }

  // MARK: - Reading and writing

  func ready(_ event: PollEvent) {
    if event.isOver { isOver = true }
    if case .upgrading = phase {
      if !isReadDue { advance() }
      return
    }
    if event.isWritable { flush() }
    if event.isReadable { read() }
  }

  /// Reads until the socket is empty, the observer is too far behind, or others are to have their turn.
  func read() {
    guard let loop, !isPaused, !isReadDue else { return }
    output.withLock { $0?.channel.beginReading(isOver: isOver) }
    var turn = ReadingTurn()
    while !isPaused, hasSocket {
      guard !turn.isOver else { return soon(on: loop) { $0.read() } }
      if hasUnread {
        readUnread(during: &turn)
        continue
      }
      let outcome = output.withLock { $0?.read(into: loop.buffer) ?? .blocked }
      guard case .bytes(let size) = outcome else { return didRead(outcome) }
      consume(UnsafeRawBufferPointer(rebasing: loop.buffer[..<size]), during: &turn)
      turn.addRead()
    }
  }

  /// Reads on in a turn that comes behind those of others. What arrives meanwhile brings no further turn.
  private func soon(on loop: EventLoop, _ readOn: @escaping @Sendable (WebSocketSession) -> Void) {
    isReadDue = true
    loop.submit { [self] in
      isReadDue = false
      readOn(self)
    }
  }

  /// Reads more of what has arrived.
  private func readUnread(during turn: inout ReadingTurn) {
    let effects = machine.withLockUnchecked { machine in
      var effects = WebSocketMachine.Effects()
      machine?.readOn(room: inbox.room, during: &turn, into: &effects)
      return effects
    }
    carryOut(effects)
  }

  /// Follows a read that found no bytes.
  private func didRead(_ outcome: ReadOutcome) {
    switch outcome {
    case .bytes, .blocked: break
    case .end: fail(.cut("without closing the WebSocket connection"))
    case .failed(let error): fail(error)
    }
  }

  private var hasSocket: Bool {
    switch phase {
    case .open, .lingering: true
    case .waiting, .dialling, .upgrading, .ended: false
    }
  }

  private func consume(_ bytes: UnsafeRawBufferPointer, during turn: inout ReadingTurn) {
    if case .lingering = phase {
      discarded += bytes.count
      if discarded > Self.mostDiscarded { tearDown() }
      return
    }
    guard !bytes.isEmpty else { return }
    let frames = turn.frames
    guard let effects = receive(bytes, during: &turn) else { return }
    if heartbeat != nil || request.onPart != nil {
      let now = Instant.now
      let isSign = signs.add(bytes.count, hasFrame: turn.frames > frames, at: now)
      if isSign, effects.events.isEmpty { reportPart(at: now) }
    }
    carryOut(effects)
  }

  /// Reports that a part of a message has arrived.
  private func reportPart(at now: Instant) {
    guard request.onPart != nil, lastReport.map({ now >= $0 + Self.reportInterval }) ?? true else { return }
    lastReport = now
    if inbox.addPart() { deliver() }
  }

  private func carryOut(_ effects: WebSocketMachine.Effects) {
    hasUnread = effects.hasUnread
    if !effects.pongs.isEmpty { send { $0?.sendPongs(effects.pongs) } }
    if let close = effects.close {
      if effects.events.isEmpty, inbox.isEmpty {
        send { $0?.close(close) }
      } else {
        // The observer may answer what came before.
        output.withLock { $0?.closeLater(close) }
        loop?.schedule(at: .now + Self.closePatience) { [weak self] in
          if let self, let loop { closeIfPending(on: loop) }
        }
      }
    }
    deliver(effects.events, size: effects.size, end: effects.end)
    if effects.end != nil { linger() } else { pauseIfBehind() }
  }

  private func deliver(_ events: [WebSocketEvent], size: Int, end: WebSocketMachine.End? = nil) {
    if !events.isEmpty || end != nil, inbox.add(events, size: size, end: end) { deliver() }
  }

  private func deliver() {
    guard let loop else { return }
    loop.deliver(to: mailbox) { [self] in
      inbox.deliver(
        read: { readOn(into: $0, on: loop) }, resume: { handBack(to: loop) }, willEnd: { closeIfPending(on: loop) })
    }
  }

  /// Stops reading while the observer is behind. One that stays behind does not keep the pings of the server from being
  /// read, until as much waits as may.
  private func pauseIfBehind() {
    let pause = inbox.pause()
    isPaused = pause != .none
    switch pause {
    case .none: break
    case .brief: watchObserver()
    case .full: closing?.pause(at: .now)
    }
  }

  /// Ends the pause if the observer blocks.
  private func watchObserver() {
    let turn = inbox.turn
    pauseTimer = loop?.schedule(at: .now + Self.patience) { [weak self] in
      guard let self, isPaused else { return }
      if inbox.turn == turn, inbox.endPause() { resume() } else { watchObserver() }
    }
  }

  /// Ends the pause: reads again, after an action.
  private func resume(_ action: (WebSocketSession) -> Void = { _ in }) {
    guard isPaused else { return }
    if let pauseTimer { loop?.cancel(pauseTimer) }
    pauseTimer = nil
    isPaused = false
    excuseSilence()
    let hasPaused = closing?.resume(at: .now) ?? false
    action(self)
    read()
    if hasPaused { watchEnd() }
  }

  // MARK: - Staying alive

  private func beat() {
    // Once this side has sent its close, there is another limit.
    guard let loop, case .open = phase, closing == nil else { return }
    // An observer that is behind is to blame for the silence, not the server.
    if isPaused { excuseSilence() }
    let next: Instant
    switch heartbeat?.look(at: .now, lastSign: signs.last) {
    case nil: return
    case .wait(let instant): next = instant
    case .ping(let instant):
      send { $0?.pingAhead() }
      next = instant
    case .lost:
      return fail(timedOut(after: request.timeouts.pong, waitingFor: "a sign of life, after a ping, of"))
    }
    heartbeatTimer = loop.schedule(at: next) { [weak self] in self?.beat() }
  }

  /// Counts the time until now as if the server had given a sign of life.
  func excuseSilence() { signs.excuse(at: .now) }

  // MARK: - The end

  /// This side has sent its close, or queued it.
  func awaitClose() {
    guard case .open = phase else { return }
    awaitEnd { $0.fail($0.timedOut(after: $1, waitingFor: "the close of")) }
  }

  /// Gives the server its time to close, or to end the connection.
  private func awaitEnd(orElse action: @escaping (WebSocketSession, Duration) -> Void) {
    closing = ClosePatience(request.timeouts.close, at: .now, unsent: unsent)
    if isPaused, pauseTimer == nil { closing?.pause(at: .now) }
    onSilentEnd = action
    watchEnd()
  }

  private func watchEnd() {
    stopTimer()
    guard let loop else { return }
    guard let next = closing?.look(at: .now, unsent: unsent) else { return onSilentEnd(self, request.timeouts.close) }
    timer = loop.schedule(at: next) { [weak self] in self?.watchEnd() }
  }

  /// How many bytes wait here, or were taken by the system and not by the server's.
  private var unsent: Int { output.withLock { $0?.waiting ?? 0 } + (socket?.socket.unacknowledged ?? 0) }

  /// The subscription was disposed.
  func cancel() {
    switch phase {
    case .open:
      send { $0?.close(WebSocketClosure(code: .normal)) }
      linger()
    case .waiting, .dialling, .upgrading: tearDown()
    case .lingering: if let loop { closeIfPending(on: loop) }
    case .ended: break
    }
  }

  /// The transport is shut down.
  func shutDown() {
    switch phase {
    case .open:
      let isFirst = beginClosing()
      send { $0?.close(WebSocketClosure(code: .goingAway)) }
      if isFirst { awaitClose() }
    case .waiting, .dialling, .upgrading: cutOff()
    case .lingering, .ended: break
    }
  }

  /// The transport does not wait any longer.
  func cutOff() {
    fail(
      RequestError(
        .connectionLost, "The transport was shut down while the WebSocket connection was open.",
        cause: TransportShutdown()))
  }

  func loopStopped() {
    cutOff()
  }

  /// Ends the connection at once.
  private func fail(_ error: RequestError) {
    var effects = WebSocketMachine.Effects()
    switch phase {
    case .waiting, .dialling, .upgrading: effects.end = .failed(error)
    case .open: machine.withLock { $0?.didLose(error, into: &effects) }
    case .lingering, .ended: break
    }
    deliver([], size: 0, end: effects.end)
    tearDown()
  }

  /// Waits for the server's end of the connection.
  private func linger() {
    guard case .open = phase else { return }
    phase = .lingering
    machine.withLock { $0 = nil }
    hasUnread = false
    if isPaused {
      isPaused = false
      loop?.submit { [self] in read() }
    }
    awaitEnd { session, _ in session.tearDown() }
  }

  private func tearDown() {
    if case .ended = phase { return }
    if case .dialling(let opening) = phase { opening.cancel() }
    phase = .ended
    machine.withLock { $0 = nil }
    stopTimer()
    for timer in [heartbeatTimer, pauseTimer].compactMap(\.self) { loop?.cancel(timer) }
    (heartbeatTimer, pauseTimer) = (nil, nil)
    let closed = output.withLock { output in
      // The server may have ended its side before the observer got to its close.
      _ = output?.closeIfPending()
      return output.take()
    }
    closed?.channel.close()
    if let socket { loop?.close(socket.socket, socket.token) }
    socket = nil
    leaveStream()
    // This may be the last reference to the observer: release what it holds elsewhere.
    loop?.deliver(to: nil) { withExtendedLifetime(self) {} }
    engine?.didEnd(self)
    (engine, loop) = (nil, nil)
  }

  /// Sets the deadline of the phase.
  private func setTimer(_ limit: Duration?, _ action: @escaping (WebSocketSession, Duration) -> Void) {
    stopTimer()
    guard let loop, let limit else { return }
    timer = loop.schedule(at: .now + limit) { [weak self] in
      if let self { action(self, limit) }
    }
  }

  private func timedOut(
    after limit: Duration, waitingFor event: String, _ reached: RequestError.Reach? = nil
  ) -> RequestError {
    .deadlinePassed(
      after: limit, waitingFor: event, request.target, operationName: request.operationName, reached: reached)
  }

  private func stopTimer() {
    if let timer { loop?.cancel(timer) }
    timer = nil
  }
}
