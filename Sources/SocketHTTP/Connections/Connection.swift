import HTTPClientCore
import Streams
import Synchronization
import SystemBase

/// One connection to a server: its socket, its channel, and its turns of reading and writing. What is said on it is an
/// ``HTTPConnection``.
///
/// The thread that leases the connection writes the request at once. The loop writes what the socket had no room for,
/// and reads the responses. Only the loop closes: a thread that finds the connection broken notifies the loop, which
/// decides what to do.
///
/// `@unchecked Sendable`: `wire` and `arrivals` have locks of their own; all other variables are used only on the loop's thread.
final class Connection: LoopHandler, @unchecked Sendable {
  let route: Route
  let madeAt = Instant.now
  /// The part of the greatest lifetime that the connection lives: connections that were made together do not all end
  /// together.
  let lifetimeShare = Double.random(in: 0.9...1)

  /// `nil` unless the connection is open. Its lock is held for moments: for writing or parsing a head, and during system
  /// calls on the socket, which do not block, for at most 64 KiB at a time. It is held together
  /// only with locks under which nothing waits and no code of the user's runs: those of the progress report, of uploads and
  /// channels, of the TLS tickets, and of the loop's inbox.
  let wire = Locked<Wire?>(nil)

  /// What other threads leave for the loop, so that they neither wait for the lock of a connection that is busy nor each
  /// make a system call of their own.
  private struct Arrivals {
    /// Exchanges that have the connection, and that the loop is to begin.
    var exchanges: [SocketExchange] = []
    /// What is known of the connection, if exchanges are left here.
    var gathering: (isUsed: Bool, version: String)?
  }

  private let arrivals = Locked(Arrivals())

  /// Whether an exchange on it may be a CONNECT to another protocol, as far as is known.
  let allowsConnectProtocol = Atomic<Bool>(false)

  // Only on the loop's thread.
  private var engine: SocketEngine?
  private var loop: EventLoop?
  private var opening: ConnectionOpening?
  private var alarm: LoopTimer?
  private var socket: OpenSocket?
  /// Whether one exchange follows the other: then reading pauses while the observer of the one has something to take.
  private var isSequential = true
  private var isPaused = false
  /// Whether further exchanges are gathered.
  private var isGathering = false
  /// Whether a turn of reading is on its way.
  private var isReadDue = false
  /// How often reading has paused; the number identifies a pause.
  private var pauses = 0
  private var isClosed = false
  /// Whether the peer may have stopped sending; initially true, as that may go unnoticed while connecting.
  private var isOver = true

  /// How many turns of writing follow one another before others have theirs.
  private static let mostTurns = 16
  /// How many events of several exchanges follow one another before others have their turn.
  private static let mostEvents = 128
  /// How many exchanges a connection has to carry for further ones to be gathered: with fewer, each is written at once.
  private static let fewestGathered = 8

  init(route: Route) {
    self.route = route
  }

  /// What is said on a connection whose server chose this protocol, or none.
  @Sendable static func http(_ applicationProtocol: ApplicationProtocol?) -> any HTTPConnection {
    switch applicationProtocol {
    case .http1, nil: HTTP1Connection()
    case .http2: HTTP2Connection()
    }
  }

  // MARK: - From any thread

  /// Writes the request of an exchange that has leased the connection, on the caller's thread. A body that comes from a
  /// file or a stream may make pauses, after which the loop has to flush.
  ///
  /// On a connection that carries many already, the loop writes it, together with what others begin until its next turn.
  func start(_ exchange: SocketExchange, on loop: EventLoop? = nil) -> WritingOutcome {
    if let (isUsed, version) = arrivals.withLock(\.gathering) {
      exchange.didConnect(isReused: isUsed, version: version, opening: nil)
      return gather(exchange)
    }
    let state = wire.withLock { wire in
      wire.map {
        (
          isUsable: $0.isUsable, isUsed: $0.http.isUsed, version: $0.http.version,
          opening: $0.http.isUsed ? nil : $0.opening
        )
      }
    }
    // The loop has closed the connection, and takes care of the exchange.
    guard let state else { return .sent }
    guard state.isUsable else { return .dead(.cut("before a request was sent")) }
    // Without the lock, because observers have clocks of their own, which may be user code; and before any response can
    // arrive.
    exchange.didConnect(
      isReused: state.isUsed, version: state.version, opening: state.opening?.times(at: .now))
    let whenReady = exchange.hasToWait ? flushing(on: loop) : nil
    let (outcome, wakeTime) = wire.withLock { wire -> (WritingOutcome, Instant?) in
      guard let wire else { return (.sent, nil) }
      wire.begin(exchange, whenReady: whenReady)
      return (wire.write(), wire.takeWakeTime())
    }
    if let wakeTime { loop?.submit { [self] in setAlarm(at: wakeTime) } }
    return writeOn(outcome)
  }

  /// Leaves an exchange for the loop's next turn.
  private func gather(_ exchange: SocketExchange) -> WritingOutcome {
    let isFirst = arrivals.withLock { arrivals in
      arrivals.exchanges.append(exchange)
      return arrivals.exchanges.count == 1
    }
    return isFirst ? .more : .sent
  }

  /// Makes the place free of one of several exchanges, which was cancelled. The loop has to ``cancel(_:)`` it then.
  func withdraw(_ exchange: SocketExchange) {
    arrivals.withLock { arrivals in arrivals.exchanges.removeAll { $0 === exchange } }
    wire.withLock { $0?.http.cancel(exchange) }
  }

  /// Whether it has carried an exchange.
  var isUsed: Bool { wire.withLock { $0?.http.isUsed ?? false } }

  /// Writes more, in a few turns, between which the lock is free.
  private func writeOn(_ first: WritingOutcome) -> WritingOutcome {
    var outcome = first
    for _ in 1..<Self.mostTurns {
      guard case .more = outcome else { break }
      outcome = wire.withLock { $0?.write() ?? .sent }
    }
    return outcome
  }

  private func flushing(on loop: EventLoop?) -> @Sendable () -> Void {
    { [weak self, weak loop] in
      guard let self else { return }
      loop?.submit { self.flush() }
    }
  }
}

// Only on the loop's thread.
extension Connection {
  /// Whether several exchanges may have it at a time.
  var isShared: Bool { !isSequential }

  // MARK: - Opening and closing

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
    guard let engine else { return }
    switch result {
    case .success(let opened):
      socket = opened.socket
      if route.unixPath == nil { opened.socket.socket.set(engine.liveness) }
      loop?.hand(opened.socket.token, to: self)
      let http = engine.makeHTTP(opened.applicationProtocol)
      isSequential = http.isSequential
      wire.withLockUnchecked { $0 = Wire(opened.channel, http, opened.steps) }
      engine.didOpen(self, limit: http.limit)
      // What opens the protocol goes out even if nobody waits any more.
      if !isSequential { flush() }
      // The events of bytes that arrived before this reading began are gone, so read now.
      read()
      isOver = isPaused || isReadDue
    case .failure(let error):
      engine.didFailToOpen(self, error)
    }
  }

  func loopStopped() {
    close()
  }

  /// Closes a connection that is no longer of use, and reports to the engine what is known about its exchanges.
  func fail(_ error: RequestError) {
    guard socket != nil else { return }
    let losses = close()
    engine?.didLose(self, error, losses)
  }

  /// Closes; returns what is known about the exchanges that it carried.
  @discardableResult
  func close() -> [ExchangeLoss] {
    isClosed = true
    opening?.cancel()
    opening = nil
    if let alarm { loop?.cancel(alarm) }
    alarm = nil
    // Released here, and not under the lock.
    let arriving = arrivals.withLockUnchecked { exchange(&$0, with: Arrivals()) }.exchanges
    let (old, losses) = wire.withLockUnchecked { wire in
      if !isSequential {
        wire?.http.end()
        _ = wire?.write()
      }
      wire?.channel.close()
      let losses = wire?.http.close() ?? []
      return (wire.take(), losses)
    }
    withExtendedLifetime(old) {}
    // After a cancellation these may be the last references to exchanges: release what their requests hold elsewhere.
    if !losses.isEmpty || !arriving.isEmpty {
      loop?.deliver(to: nil) { withExtendedLifetime((losses, arriving)) {} }
    }
    // Nobody writes from here on, so the descriptor can be closed, and its number reused.
    if let socket { loop?.close(socket.socket, socket.token) }
    socket = nil
    engine?.didClose()
    return losses
  }

  /// Ends one of several exchanges, which was cancelled.
  func cancel(_ exchange: SocketExchange) {
    withdraw(exchange)
    loop?.deliver(to: nil) { withExtendedLifetime(exchange) {} }
    flush()
  }

  // MARK: - Turns

  func ready(_ event: PollEvent) {
    if event.isOver { isOver = true }
    if event.isWritable { flush() }
    if event.isReadable { read() }
  }

  /// Continues writing.
  func flush() {
    defer { review() }
    let arriving = arrivals.withLockUnchecked { exchange(&$0.exchanges, with: []) }
    let whenReady = arriving.map { $0.hasToWait ? flushing(on: loop) : nil }
    let outcome = wire.withLock { wire -> WritingOutcome in
      guard let wire else { return .sent }
      for (exchange, whenReady) in zip(arriving, whenReady) { wire.begin(exchange, whenReady: whenReady) }
      return wire.write()
    }
    switch writeOn(outcome) {
    case .sent, .blocked: break
    // Let others have their turn.
    case .more: loop?.submit { [self] in flush() }
    case .dead(let error): fail(error)
    case .read: read()
    }
  }

  /// Reads until the socket is empty, there is something to deliver first, or others are to have their turn.
  func read() {
    guard let loop, !isPaused, !isReadDue else { return }
    // Of several exchanges, one may have more to send now, and the protocol has something to say itself.
    defer { if !isSequential { flush() } }
    wire.withLock { $0?.channel.beginReading(isOver: isOver) }
    var (turn, events) = (ResponseTurn(), 0)
    while !isPaused, socket != nil {
      guard !turn.isOver, events < Self.mostEvents else { return readSoon(on: loop) }
      events += 1
      switch wire.withLock({ $0?.read(into: loop.buffer) ?? .blocked }) {
      case .more(let count): turn.count(count)
      case .blocked: return
      case .failed(let error): return fail(error)
      case .event(.parts(let parts, let exchange)): deliver(parts, to: exchange)
      case .event(.completed(let completion)): complete(completion)
      case .event(.lost(let loss, let error)): engine?.didLose(loss, error, on: self)
      case .event(.ended(let exchange)): exchange.channel?.receiveEnd()
      case .event(.limit(let limit)): engine?.didChangeLimit(of: self, to: limit)
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

  /// Delivers parts. If no other exchange has the connection, reading resumes when the observer has taken them.
  private func deliver(_ parts: [HTTPResponsePart], to exchange: SocketExchange) {
    guard let loop else { return }
    // A whole response that has arrived by then needs no place of its own.
    if let engine, case .head(let head)? = parts.first, exchange.request.isReadAsItArrives(head),
      !engine.didBecomeStream(exchange), head.isEndless
    {
      let error = RequestError.tooManyStreams(engine.mostStreams, to: exchange.request.origin, reached: .maybe)
      return isSequential ? fail(error) : abandon(exchange, error)
    }
    guard isSequential else {
      return exchange.add(parts, on: loop) { [self, loop] count in
        loop.submit { [self] in didDeliver(count, of: exchange) }
      }
    }
    isPaused = true
    pauses += 1
    exchange.recordDelivery()
    loop.deliver(to: exchange.mailbox) { [self, loop, pauses] in
      if exchange.deliver(parts) { loop.submit { self.resume(after: pauses) } }
    }
  }

  /// The observer of one exchange of several has taken something.
  private func didDeliver(_ count: Int, of exchange: SocketExchange) {
    wire.withLock { $0?.http.didDeliver(count, of: exchange) }
    flush()
  }

  /// Ends one exchange of several with an error.
  private func abandon(_ exchange: SocketExchange, _ error: RequestError) {
    cancel(exchange)
    engine?.didLose(ExchangeLoss(exchange: exchange, reached: .maybe, hasReceived: true), error, on: self)
  }

  /// Resumes reading after the batch of a pause has been delivered.
  private func resume(after pause: Int) {
    guard isPaused, pause == pauses else { return }
    isPaused = false
    read()
  }

  // MARK: - Time

  /// Sets the alarm if the protocol wants to be called earlier than it is set to, and begins or ends to gather exchanges.
  private func review() {
    guard !isSequential else { return }
    let state = wire.withLock { wire in
      wire.map { wire in
        if wire.http.allowsConnectProtocol { allowsConnectProtocol.store(true, ordering: .relaxed) }
        return (
          time: wire.takeWakeTime(), load: wire.http.load, isUsed: wire.http.isUsed, version: wire.http.version
        )
      }
    }
    guard let state else { return }
    if let time = state.time { setAlarm(at: time) }
    guard (state.load >= Self.fewestGathered) != isGathering else { return }
    isGathering.toggle()
    let gathering = isGathering ? (state.isUsed, state.version) : nil
    arrivals.withLock { $0.gathering = gathering }
  }

  private func setAlarm(at time: Instant) {
    guard let loop, socket != nil else { return }
    if let alarm {
      guard time < alarm.instant else { return }
      loop.cancel(alarm)
    }
    alarm = loop.schedule(at: time) { [weak self] in self?.wake() }
  }

  private func wake() {
    alarm = nil
    if let error = wire.withLock({ $0?.wake(at: .now) }) { return fail(error) }
    read()
  }

  private func complete(_ completion: ExchangeCompletion) {
    guard let loop else { return }
    let isReusable =
      completion.mayReuse && (!isSequential || wire.withLock { $0?.isQuiet(using: loop.buffer) ?? false })
    if !isReusable, isSequential { close() }
    engine?.didComplete(completion, on: self, isReusable: isReusable)
  }
}

extension Connection {
  /// What the threads that write requests share with the loop: the bytes, and what is said with them.
  final class Wire {
    let channel: any ByteChannel
    let http: any HTTPConnection
    let opening: OpeningSteps
    private let isSequential: Bool
    /// When the alarm goes off that is set, or is about to be.
    private var wakeTime: Instant?

    init(_ channel: any ByteChannel, _ http: any HTTPConnection, _ opening: OpeningSteps) {
      self.channel = channel
      self.http = http
      self.opening = opening
      isSequential = http.isSequential
    }

    /// How much is written while the lock is held, even if the socket could take more.
    private static let largestTurn = 64 << 10

    /// Whether a request can be written. Of a connection that carries others, the loop finds out soon enough.
    var isUsable: Bool {
      guard isSequential else { return http.load > 0 || !channel.hasEnded }
      return switch channel.condition() {
      case .quiet: true
      case .closed: false
      // No request was sent yet, so this cannot be a response. On a new connection, leave it to the parser to say what
      // it is.
      case .readable: !http.isUsed
      }
    }

    /// Begins an exchange, unless it was cancelled since it got the connection: who cancels it says so before it looks for it
    /// here.
    func begin(_ exchange: SocketExchange, whenReady: (@Sendable () -> Void)?) {
      if exchange.mayBegin { http.begin(exchange, whenReady: whenReady) }
    }

    /// Writes what there is to send, for one turn.
    func write() -> WritingOutcome {
      var room = Self.largestTurn
      while room > 0 {
        switch http.withNext({ channel.write($0, $1) }) {
        case nil: return flush()
        case .taken(let count):
          http.didWrite(count)
          room -= count
        case .blocked: return blocked
        case .failed(let error): return http.didFailToWrite(error)
        }
      }
      return .more
    }

    private func flush() -> WritingOutcome {
      switch channel.flush() {
      case .done: http.didFlush() ? .read : .sent
      case .blocked: blocked
      case .failed(let error): http.didFailToWrite(error)
      }
    }

    /// The outcome if the socket is full: no event waits until it has room, which may never be.
    private var blocked: WritingOutcome { http.hasEvents ? .read : .blocked }

    /// Reads once, unless there is an event that has not been taken.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadingOutcome {
      do throws(RequestError) {
        if let event = try http.next(isEmpty: false) { return .event(event) }
        switch channel.read(into: buffer) {
        case .bytes(let count):
          try http.receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
          return try http.next(isEmpty: false).map(ReadingOutcome.event) ?? .more(count)
        case .blocked:
          return try http.next(isEmpty: true).map(ReadingOutcome.event) ?? .blocked
        case .end(let isAuthentic):
          try http.receiveEnd(isAuthentic: isAuthentic)
          return .more(0)
        case .failed(let error):
          return http.didFailToRead(error).map(ReadingOutcome.event) ?? .failed(error)
        }
      } catch {
        return .failed(error)
      }
    }

    /// When an alarm has to be set, if none is by then.
    func takeWakeTime() -> Instant? {
      guard !isSequential, let next = http.wakeTime, wakeTime.map({ next < $0 }) ?? true else { return nil }
      wakeTime = next
      return next
    }

    /// Lets the protocol do what is due; returns an error if the connection is of no use any more.
    func wake(at now: Instant) -> RequestError? {
      wakeTime = nil
      guard let due = http.wakeTime, due <= now else { return nil }
      do throws(RequestError) {
        try http.wake(at: now)
        return nil
      } catch {
        return error
      }
    }

    /// Whether another exchange may follow: all is sent, and nothing has come after the response.
    func isQuiet(using buffer: UnsafeMutableRawBufferPointer) -> Bool {
      guard case .done = channel.flush() else { return false }
      // Further bytes would be read as the response to the next request; with TLS they may already be there, in a
      // record of their own.
      guard case .blocked = channel.read(into: buffer) else { return false }
      return true
    }
  }

  /// The outcome of reading once.
  enum ReadingOutcome: Sendable {
    case event(ConnectionEvent)
    /// There may be more to read than this number of bytes.
    case more(Int)
    case blocked
    indirect case failed(RequestError)
  }
}
