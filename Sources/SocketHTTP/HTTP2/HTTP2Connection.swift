import HTTPClientCore
import Streams
import Synchronization
import SystemBase

/// How long a connection in HTTP/2 waits for its server.
struct HTTP2Times {
  /// For how long the server may be silent while there are exchanges, before it is asked for a sign of life.
  var silence = Duration.seconds(20)
  /// How long it then has, and how long it has for its settings.
  var patience = Duration.seconds(10)
  /// For how long it may have been silent for a request that is not replayable to be sent without such a sign, and how long
  /// that waits for one before it goes to another connection. If the server has not sent its settings, it has the patience
  /// above for those.
  var trust = Duration.seconds(1)
  var longestHold = Duration.seconds(2)
}

/// A connection that speaks HTTP/2 (RFC 9113): it carries many exchanges at a time, each in a stream of its own.
final class HTTP2Connection: HTTPConnection {
  /// An exchange that has a stream.
  private struct Carried {
    let exchange: SocketExchange
    /// When its request began to be written.
    let start: Instant
    /// What reads its upload.
    let upload: HTTPUploadReader?
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

  /// An exchange that has yet to begin.
  private typealias Held = (exchange: SocketExchange, whenReady: (@Sendable () -> Void)?)

  // Nothing that is called while one of these is being changed uses them, so the checks for overlapping accesses are off.

  @exclusivity(unchecked) private var machine = HTTP2Machine()
  @exclusivity(unchecked) private var carried = StreamList<Carried>()
  /// The streams of exchanges of which parts were delivered: their observers have yet to take bytes of them.
  @exclusivity(unchecked) private(set) var delivered: [ObjectIdentifier: UInt32] = [:]
  /// The streams of which something of the request's body is still to be sent, and those that read an upload, or a tunnel.
  @exclusivity(unchecked) private var sending: [UInt32] = []
  @exclusivity(unchecked) private var uploading: [UInt32] = []
  /// The streams of tunnels in which there is more to send than was found: each is asked only then.
  private let filled = Locked<[UInt32]>([])
  /// The streams that have parts, and whether nothing more has arrived, so that they are not to be collected any longer.
  @exclusivity(unchecked) private var ready = Fifo<UInt32>()
  @exclusivity(unchecked) private var isAllRead = false
  /// Exchanges that begin once the server has given a sign of life, the first of which are its settings.
  @exclusivity(unchecked) private var held: [Held] = []
  /// When the first of them came.
  @exclusivity(unchecked) private var holdTime = Instant.now
  /// Exchanges that begin once there is room for a stream: the server takes none for now, or has yet to read what was
  /// written.
  @exclusivity(unchecked) private var crowded: [Held] = []
  /// Whether the server has closed the connection because of an error, or of too much to do.
  @exclusivity(unchecked) private var isExpelling = false
  /// What was found out elsewhere than in what has arrived.
  @exclusivity(unchecked) private var events = Fifo<ConnectionEvent>()
  @exclusivity(unchecked) private(set) var isUsed = false
  /// Why nothing more can be sent, and why the connection is of no use any more once all events are taken.
  @exclusivity(unchecked) private var writeError: RequestError?
  @exclusivity(unchecked) private var ending: RequestError?

  private let madeAt = Instant.now
  /// How many bytes were written since the server last sent something.
  @exclusivity(unchecked) private var writtenCount = 0
  /// How often something was received since all that had arrived was read.
  @exclusivity(unchecked) private var reads = 0
  /// When the server last sent something, and when it was asked for a sign of life since.
  @exclusivity(unchecked) private var lastSign = Instant.now
  @exclusivity(unchecked) private var pingTime: Instant?
  /// Whether there was no room for what was to be written, and nothing was since.
  @exclusivity(unchecked) private var wasBlocked = false
  /// When the server last got something to respond to while there was nothing else.
  @exclusivity(unchecked) private var busySince = Instant.now

  /// How much of an upload is read ahead of what the server takes.
  private static let uploadAhead = 64 << 10
  /// How much of a body is collected before its observer gets it.
  private static let largestDelivery = 64 << 10
  /// How many exchanges a server may allow.
  private static let mostExchanges = 1 << 20
  /// How many reads may follow one another before what has arrived for one observer no longer waits for more.
  private static let mostReads = 4
  /// How many bytes a second a slow network takes, and for how long what waits there delays a sign of life at most.
  private static let slowest = 64 << 10
  private static let longestDelay = Duration.seconds(60)
  private let times: HTTP2Times

  init(times: HTTP2Times = HTTP2Times()) {
    self.times = times
  }

  var version: String { "2" }
  var limit: Int { PeerSettings.assumedStreams }
  var load: Int { carried.count + held.count + crowded.count }
  var isSequential: Bool { false }
  var allowsConnectProtocol: Bool { machine.peer.allowsConnectProtocol }

  // MARK: - Writing

  func begin(_ exchange: SocketExchange, whenReady: (@Sendable () -> Void)?) {
    let now = Instant.now
    // The server may have gone without a word, and nobody would know then what has become of the request.
    let needsSign = !exchange.request.isReplayable && now - lastSign > times.trust
    // Or it may take few at a time, and has yet to say so.
    if ending == nil, needsSign || !machine.peer.haveArrived && load > 0 {
      hold(exchange, whenReady, at: now)
      // Its settings come unasked.
      if machine.peer.haveArrived, pingTime == nil { askForSign(at: now) }
    } else {
      begin(exchange, at: now, whenReady: whenReady)
    }
  }

  private func hold(_ exchange: SocketExchange, _ whenReady: (@Sendable () -> Void)?, at now: Instant) {
    if held.isEmpty { holdTime = now }
    held.append((exchange, whenReady))
    exchange.recordActivity(at: now)
  }

  private func begin(_ exchange: SocketExchange, at now: Instant, whenReady: (@Sendable () -> Void)?) {
    let head = HTTP2RequestHead(exchange)
    let largestHead = machine.peer.largestHead
    guard largestHead == .max || head.listSize <= largestHead else {
      let error = RequestError(
        .tooLarge, "The head of the request is larger than the \(largestHead) bytes that the server takes.",
        reached: .never)
      return events.append(.lost(ExchangeLoss(exchange: exchange), error))
    }
    // The server may have changed its mind since the exchange was given this connection.
    guard ending == nil, writeError == nil, crowded.count < mostCrowded,
      exchange.channel == nil || allowsConnectProtocol
    else { return refuse(exchange) }
    if crowded.isEmpty, open(exchange, head, at: now, whenReady: whenReady) { return }
    // Another protocol can have a connection of its own.
    if exchange.channel != nil { return refuse(exchange) }
    exchange.recordActivity(at: now)
    crowded.append((exchange, whenReady))
  }

  /// How many exchanges may wait for room: those that the server takes besides those that are open. While it takes none at
  /// all, a new connection is expected to do no better.
  private var mostCrowded: Int {
    if machine.takesNoMore { return 0 }
    let limit = machine.peer.maximumStreams
    return limit == 0 ? .max : max(0, limit - machine.openCount)
  }

  /// Gives an exchange to another connection.
  private func refuse(
    _ exchange: SocketExchange, because reason: String = "The server takes no more requests on this connection."
  ) {
    let error = RequestError(.connectionLost, reason, reached: .never)
    events.append(.lost(ExchangeLoss(exchange: exchange, isRefused: true, isExpelled: isExpelling), error))
  }

  /// Begins an exchange on a stream; returns `false` if there is no room for one.
  private func open(
    _ exchange: SocketExchange, _ head: HTTP2RequestHead, at now: Instant, whenReady: (@Sendable () -> Void)?
  ) -> Bool {
    let request = exchange.request
    let channel = exchange.channel
    let hasBody = channel != nil || request.upload != nil || !(request.body ?? Data()).isEmpty
    guard let stream = machine.open(head, isEnd: !hasBody) else { return false }
    if carried.isEmpty { busySince = now }
    let upload = exchange.uploadReader(isFramed: false, whenReady: whenReady)
    carried.append(Carried(exchange: exchange, start: now, upload: upload), of: stream)
    exchange.stream.store(stream, ordering: .relaxed)
    exchange.recordActivity(at: now)
    guard hasBody else { return true }
    if let channel {
      channel.begin { [filled] in
        filled.withLock { $0.append(stream) }
        whenReady?()
      }
      uploading.append(stream)
      return true
    }
    sending.append(stream)
    if upload != nil { uploading.append(stream) } else { machine.send(request.body ?? Data(), on: stream, isEnd: true) }
    return true
  }

  /// Begins what has waited for room, in order.
  private func openCrowded() {
    let now = Instant.now
    var count = 0
    while count < crowded.count, machine.room > 0 {
      let (exchange, whenReady) = crowded[count]
      guard open(exchange, HTTP2RequestHead(exchange), at: now, whenReady: whenReady) else { break }
      count += 1
    }
    crowded.removeFirst(count)
  }

  func cancel(_ exchange: SocketExchange) {
    let deliveredStream = delivered.removeValue(forKey: ObjectIdentifier(exchange))
    guard let index = index(of: exchange) else {
      held.removeAll { $0.exchange === exchange }
      crowded.removeAll { $0.exchange === exchange }
      // Its response has ended, and nobody says any more what was taken of it.
      if let deliveredStream { machine.consumed(.max, on: deliveredStream) }
      return
    }
    let stream = carried.id(at: index)
    let one = carried.remove(at: index)
    // A tunnel that the server has ended, and in which nothing waits, ends in order (RFC 8441, section 5).
    if one.exchange.channel != nil, one.hasEnded, machine.progress(of: stream)?.queued == 0 {
      machine.consumed(.max, on: stream)
      machine.send(Data(), on: stream, isEnd: true)
    } else {
      machine.cancel(stream)
    }
  }

  /// The index of an exchange, if it has a stream here.
  private func index(of exchange: SocketExchange) -> Int? {
    let index = carried.index(of: exchange.stream.load(ordering: .relaxed))
    return index.flatMap { carried[$0].exchange === exchange ? $0 : nil }
  }

  func withNext(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> WriteOutcome) -> WriteOutcome? {
    if !crowded.isEmpty { openCrowded() }
    if writeError != nil { return .blocked }
    uploading += filled.withLock { exchange(&$0, with: []) }
    for stream in uploading { readUpload(of: stream) }
    let outcome = machine.withOutput { body($0, UnsafeRawBufferPointer(start: nil, count: 0)) }
    if case .blocked? = outcome { wasBlocked = true }
    return outcome
  }

  /// Reads as much of an upload as is to wait in the machine.
  private func readUpload(of stream: UInt32) {
    guard let index = carried.index(of: stream) else { return finishUpload(of: stream) }
    let exchange = carried[index].exchange
    if let channel = exchange.channel {
      while let progress = machine.progress(of: stream), progress.queued < Self.uploadAhead {
        guard let bytes = channel.takeUnsent() else { return finishUpload(of: stream) }
        machine.send(bytes, on: stream, isEnd: false)
      }
      return
    }
    guard let upload = carried[index].upload else { return finishUpload(of: stream) }
    do throws(RequestError) {
      while let progress = machine.progress(of: stream), progress.queued < Self.uploadAhead {
        // The server may not want the rest.
        if progress.isWritten { return finishUpload(of: stream) }
        switch try upload.withNext({ _, bytes in Data(bytes) }) {
        case .lent(let bytes):
          _ = upload.advance(by: bytes.count)
          machine.send(bytes, on: stream, isEnd: upload.isAtEnd)
          exchange.recordEndOfPause()
          if upload.isAtEnd { return finishUpload(of: stream) }
        case .waiting:
          // The server is still to blame for what its window or the socket has no room for.
          if progress.queued == 0, !wasBlocked { exchange.recordPause() }
          return
        case .end:
          machine.send(Data(), on: stream, isEnd: true)
          exchange.recordEndOfPause()
          return finishUpload(of: stream)
        }
      }
    } catch {
      let isBegun = machine.progress(of: stream)?.isBegun ?? true
      if let loss = loss(of: stream, { $0.reached = isBegun ? .maybe : .never }) { events.append(.lost(loss, error)) }
      machine.cancel(stream)
      finishUpload(of: stream)
    }
  }

  private func finishUpload(of stream: UInt32) { uploading.removeAll { $0 == stream } }

  func didWrite(_ count: Int) {
    machine.didWrite(count)
    writtenCount += count
    // Where there was no room, the server's system has taken something since.
    if wasBlocked, pingTime != nil { pingTime = .now }
    wasBlocked = false
    guard !sending.isEmpty else { return }
    sending.removeAll { stream in
      guard let index = carried.index(of: stream), let progress = machine.progress(of: stream) else { return true }
      if progress.written > carried[index].sentCount {
        carried[index].sentCount = progress.written
        carried[index].exchange.recordActivityUnlessBusy()
        carried[index].exchange.didSend(progress.written)
      }
      if progress.isWritten { carried[index].exchange.didSendAll() }
      return progress.isWritten
    }
  }

  func didFlush() -> Bool { hasEvents }

  func didFailToWrite(_ error: RequestError) -> WritingOutcome {
    // What has arrived is read first.
    writeError = error
    return .read
  }

  // MARK: - Reading

  func receive(_ bytes: UnsafeRawBufferPointer) throws(RequestError) {
    let now = Instant.now
    (lastSign, pingTime, isAllRead, writtenCount) = (now, nil, false, 0)
    reads += 1
    let hadSettings = machine.peer.haveArrived
    do throws(HTTP2ConnectionError) {
      try machine.receive(bytes, at: now)
      if !hadSettings, machine.peer.haveArrived, !held.isEmpty { begin(exchange(&held, with: [])) }
    } catch {
      // What came before is valid.
      ending = ending ?? error.error
    }
  }

  func receiveEnd(isAuthentic: Bool) throws(RequestError) {
    let isCut = machine.receiveEnd() || !isAuthentic
    ending = ending ?? .cut(isCut ? "before it had responded" : "while it was idle")
  }

  func didFailToRead(_ error: RequestError) -> ConnectionEvent? {
    ending = ending ?? error
    return carried.firstIndex { $0.hasEnded }.map { complete(at: $0) }
  }

  func didDeliver(_ count: Int, of exchange: SocketExchange) {
    guard let stream = delivered[ObjectIdentifier(exchange)] else { return }
    machine.consumed(count, on: stream)
    if carried.index(of: stream) == nil, machine.progress(of: stream) == nil {
      delivered[ObjectIdentifier(exchange)] = nil
    }
  }

  var hasEvents: Bool { !events.isEmpty || machine.hasEvents }

  func next(isEmpty: Bool) throws(RequestError) -> ConnectionEvent? {
    while let event = machine.nextEvent() {
      if let event = take(event) { return event }
    }
    if let event = events.popFirst() { return event }
    if isEmpty { (isAllRead, reads) = (true, 0) }
    while isAllRead || ending != nil || reads >= Self.mostReads, let stream = ready.popFirst() {
      if let index = carried.index(of: stream), !carried[index].parts.isEmpty { return deliver(at: index) }
    }
    if reads >= Self.mostReads { reads = 0 }
    guard let error = ending ?? (isEmpty ? writeError : nil) else { return nil }
    // A response that is whole counts, whether or not the rest of the request is still sent.
    if let index = carried.firstIndex(where: \.hasEnded) { return complete(at: index) }
    throw error
  }

  /// Takes what has arrived; returns the event that comes of it, if one does already.
  private func take(_ event: HTTP2Event) -> ConnectionEvent? {
    switch event {
    case .informational(let stream, let head):
      guard let index = carried.index(of: stream) else { return nil }
      let exchange = carried[index].exchange
      carried[index].hasReceived = true
      exchange.recordResponse()
      exchange.recordActivityUnlessBusy()
      if exchange.request.onInterimResponse != nil { exchange.didReceive(interim: head) }
    case .head(let stream, let head):
      guard let index = carried.index(of: stream) else { return nil }
      carried[index].exchange.recordResponse()
      carried[index].hasReceived = true
      carried[index].isSuccess = head.isSuccess
      add(.head(head), of: 0, at: index)
    case .data(let stream, let data):
      guard let index = carried.index(of: stream) else {
        machine.consumed(data.count, on: stream)
        return nil
      }
      add(.body(data), of: data.count, at: index)
      if carried[index].partsSize >= Self.largestDelivery { return deliver(at: index) }
    case .pong: begin(exchange(&held, with: []))
    case .trailers(let stream, let fields):
      if let index = carried.index(of: stream) { add(.trailers(fields), of: 0, at: index) }
    case .goAway(_, let code, _): isExpelling = code != .noError && code != .http11Required
    case .end(let stream, let isClosed):
      guard let index = carried.index(of: stream) else { return nil }
      carried[index].hasEnded = true
      if isClosed { return complete(at: index) }
      if carried[index].exchange.channel != nil, carried[index].isSuccess {
        events.append(.ended(carried[index].exchange))
        return carried[index].parts.isEmpty ? nil : deliver(at: index)
      }
      // A server that responds early with success wants the rest of the request, too; one that refuses does not (section
      // 8.1).
      guard !carried[index].isSuccess else { return nil }
      let completion = complete(at: index)
      machine.cancel(stream)
      if !delivered.isEmpty { delivered = delivered.filter { $0.value != stream } }
      return completion
    case .closed(let stream): return carried.index(of: stream).map { complete(at: $0) }
    case .reset(let stream, let reset):
      return loss(of: stream) { loss in
        // What it has responded to, it has taken, whatever it says.
        loss.isRefused = reset.isUnprocessed && !loss.hasReceived
        // What it demands in another version it has not carried out in this one; another protocol says nothing about HTTP.
        let demandsHTTP1 = reset.isByServer && reset.code == .http11Required && !loss.hasReceived
        loss.requiresHTTP1 = demandsHTTP1 && loss.exchange.channel == nil
        loss.isExpelled = reset.cause == .goAway && reset.code != .noError && !loss.requiresHTTP1
        loss.reached = loss.isRefused || demandsHTTP1 ? .never : .maybe
      }.map { loss in
        var error = reset.error
        if loss.hasReceived { error.reached = .maybe }
        return .lost(loss, error)
      }
    case .limit(let limit):
      let kept = min(crowded.count, mostCrowded)
      for (exchange, _) in crowded[kept...] { refuse(exchange) }
      crowded.removeSubrange(kept...)
      // A server that takes none for now is not one that takes no more: one exchange waits here until it does.
      return .limit(machine.takesNoMore ? 0 : min(max(limit, 1), Self.mostExchanges))
    }
    return nil
  }

  private func add(_ part: HTTPResponsePart, of size: Int, at index: Int) {
    if carried[index].parts.isEmpty { ready.append(carried.id(at: index)) }
    carried[index].parts.append(part)
    carried[index].partsSize += size
  }

  /// The event of the parts that wait.
  private func deliver(at index: Int) -> ConnectionEvent {
    let parts = exchange(&carried[index].parts, with: [])
    carried[index].partsSize = 0
    delivered[ObjectIdentifier(carried[index].exchange)] = carried.id(at: index)
    return .parts(parts, carried[index].exchange)
  }

  private func complete(at index: Int) -> ConnectionEvent {
    let stream = carried.id(at: index)
    let one = carried.remove(at: index)
    isUsed = true
    // The last parts are not recorded when they are taken.
    machine.consumed(one.partsSize, on: stream)
    if !delivered.isEmpty, machine.progress(of: stream) == nil { delivered[ObjectIdentifier(one.exchange)] = nil }
    return .completed(
      ExchangeCompletion(
        exchange: one.exchange, parts: one.parts, start: one.start,
        mayReuse: ending == nil && writeError == nil && !machine.takesNoMore, keepAlive: nil))
  }

  /// Takes an exchange from the connection, and says what is known about it.
  private func loss(of stream: UInt32, _ change: (inout ExchangeLoss) -> Void) -> ExchangeLoss? {
    guard let index = carried.index(of: stream) else { return nil }
    let one = carried.remove(at: index)
    delivered[ObjectIdentifier(one.exchange)] = nil
    var loss = ExchangeLoss(exchange: one.exchange, parts: one.parts, hasReceived: one.hasReceived)
    change(&loss)
    return loss
  }

  // MARK: - Time

  var wakeTime: Instant? {
    guard machine.peer.haveArrived else { return madeAt + times.patience }
    let silence = isWaiting ? pingTime.map { $0 + patience } ?? silenceLimit : nil
    return earlier(silence, held.isEmpty ? nil : holdTime + times.longestHold)
  }

  /// Whether there is something for the server to respond to, or to make room for.
  private var isWaiting: Bool { !carried.isEmpty || !crowded.isEmpty }

  /// Until when it may be silent before it is asked for a sign of life.
  private var silenceLimit: Instant { max(lastSign, busySince) + times.silence }

  /// How long the server has for a sign of life: what was written before the question may still be on its way.
  private var patience: Duration {
    times.patience + min(.seconds(writtenCount / Self.slowest), Self.longestDelay)
  }

  func wake(at now: Instant) throws(RequestError) {
    guard machine.peer.haveArrived else {
      // RFC 9113, section 3.4: they are the first that it sends.
      let error = HTTP2ConnectionError(.settingsTimeout, "it sends no settings")
      machine.fail(error)
      throw error.error
    }
    if !held.isEmpty, now >= holdTime + times.longestHold { moveHeld() }
    guard isWaiting else { return }
    if let pingTime {
      if now >= pingTime + patience { throw .cut("or has gone: it gives no sign of life") }
    } else if now >= silenceLimit {
      askForSign(at: now)
    }
  }

  private func askForSign(at now: Instant) {
    pingTime = now
    _ = machine.ping()
  }

  /// Begins what has waited.
  private func begin(_ waiting: [Held]) {
    let now = Instant.now
    for (exchange, whenReady) in waiting { begin(exchange, at: now, whenReady: whenReady) }
  }

  /// Gives what waits for a sign of life to another connection. This one takes no more, and ends with those that it carries.
  private func moveHeld() {
    machine.stopOpening()
    let moved = exchange(&held, with: [])
    for (exchange, _) in moved { refuse(exchange, because: "The server gives no sign of life.") }
  }

  func end() { machine.shutDown() }

  func close() -> [ExchangeLoss] {
    defer {
      carried = StreamList()
      (delivered, held, crowded) = ([:], [], [])
    }
    let lost = events.all.compactMap { event in if case .lost(let loss, _) = event { loss } else { nil } }
    return lost + (held + crowded).map { ExchangeLoss(exchange: $0.exchange, isExpelled: isExpelling) }
      + carried.indices.map { index in
        let one = carried[index]
        let hasLeft = machine.progress(of: carried.id(at: index))?.hasLeft ?? true
        return ExchangeLoss(
          exchange: one.exchange, parts: one.parts, reached: hasLeft ? .maybe : .never, hasReceived: one.hasReceived,
          isExpelled: isExpelling)
      }
  }
}

extension HTTP2RequestHead {
  /// Takes the request of an exchange: one with a channel is a CONNECT to WebSocket.
  fileprivate init(_ exchange: SocketExchange) {
    if exchange.channel == nil {
      self.init(exchange.request, defaults: exchange.defaults)
    } else {
      self.init(connecting: "websocket", to: exchange.request.target, headers: exchange.request.headers)
      defaults = exchange.defaults
    }
  }
}
