import HTTPClientCore
import Streams
import SystemBase

/// What a server says about operations and their connection, in any protocol.
enum LiveServerMessage: Sendable {
  /// The server accepts the connection, and may say how long it will be silent at most.
  case acknowledged(longestSilence: Duration?)
  case ping(Data?)
  /// The answer to the ping of this number; `nil` where a protocol's pings have no number.
  case pong(Int?)
  case keepAlive
  /// The server has the operation.
  case confirmed(id: String)
  /// An execution result of an operation; the id is `nil` where a connection carries only one.
  case next(id: String?, Data)
  /// The operation has failed.
  case failed(id: String?, LiveFailure)
  case complete(id: String?)
}

/// What a client says, in any protocol.
enum LiveClientMessage: Hashable, Sendable {
  case subscribe(id: String, operation: Int)
  case complete(id: String)
  /// A ping, the so-manieth on the connection.
  case ping(Int)
  case pong(Data?)
}

/// What happens on an attempt to make a connection, and on the connection.
enum LiveChannelEvent: Sendable {
  /// The attempt has what it needs to begin, such as a token.
  case prepared
  /// The server has accepted the connection; the channel is its sending side. It is resumed if the request named the last
  /// event, so that the server sends what came since.
  case opened(any LiveChannel, isResumed: Bool)
  case message(LiveServerMessage)
  /// A sign of life without a message.
  case heard
  /// The server says how long to wait before the next attempt.
  case pause(Duration)
  /// What came before has this identifier, after which another connection may resume.
  case position(String)
  case lost(LiveFailure)
}

/// The sending side of a connection. The calls must not wait.
protocol LiveChannel: Sendable {
  /// Sends a message. `body` is the operation's, for `subscribe`. Throws if the connection is closed or not read from.
  func send(_ message: LiveClientMessage, body: Data) throws(RequestError)

  /// Tells the server that the connection ends.
  func close(code: UInt16)
}

/// The operations on one connection, and what is sent and delivered for them: a pure state machine over inputs and time,
/// the same for all protocols. ``LiveSupervisor`` says when there is a connection.
///
/// An operation is sent again on each new connection, in the order in which operations were begun, and under an id that
/// was not used before; a mutation that was sent is not. It counts as connected once the server has answered a ping that
/// was sent behind it, or has sent something for it: what is fetched from then on, and what comes, leave no gap between
/// them. A server that sends other things, but answers no ping in time, counts as having answered it. What a server
/// refuses for now is sent again on the same connection, after a pause of its own, so that others are not disturbed.
/// Where there are pings, they also pace what is sent: so many bytes of operations, and more once the server has
/// answered, so that thousands of operations do not exceed what may wait for the socket. Messages for ids that are not
/// in use are ignored: they come late for an operation that was cancelled, or are a server's mistake.
struct LiveMachine: Sendable {
  enum Input: Sendable {
    /// An operation, whose message has about so many bytes.
    case add(Int, isReplayable: Bool, size: Int)
    case remove(Int)
    case channel(generation: Int, LiveChannelEvent)
    case tick
    /// The connection did not take the message of an operation.
    case notSent(Int, generation: Int, RequestError)
    /// Everything ends with this error, because the transport is being shut down, or the account has signed out.
    case stop(RequestError)
  }

  enum Action {
    case dial(generation: Int, refreshingToken: Bool, after: String?)
    case send(LiveClientMessage)
    case closeChannel(code: UInt16)
    /// Close, and hear nothing more of the connection.
    case dropChannel(code: UInt16)
    case deliver(Int, LiveEvent<Data>)
    case end(Int, RequestError?)
  }

  private struct Operation {
    let isReplayable: Bool
    let size: Int
    /// The id on the current connection, once it has been sent there.
    var id: String?
    var hasBeenSent = false
    /// Whether there has been a result, so that the server has carried it out, whatever it says afterwards.
    var hasResult = false
    var sentAt = Duration.zero
    /// How often in a row the server has refused it for now.
    var refusals = 0
    var wasConnected = false
    /// What is to be delivered once the server is known to have it.
    var announcement: LiveEvent<Data>?
    /// The ping whose pong says so.
    var ping = 0

    /// Whether the server may have carried it out, and must not do so twice, when its connection ends with an error: a
    /// request of its own may not have reached the server, or have been declined as it was.
    func mayBeDone(after error: RequestError, isForOne: Bool) -> Bool {
      hasBeenSent && !isReplayable && (!isForOne || error.reached == .maybe || hasResult)
    }
  }

  private(set) var supervisor: LiveSupervisor
  private var operations: [Int: Operation] = [:]
  private var numbers: [String: Int] = [:]
  private var lastID = 0
  private var isResumed = false
  /// The pings and pongs on the current connection.
  private var pings = 0
  private var pongs = 0
  /// When a ping counts as answered if anything else has come.
  private var answerDue: Duration?
  private var unannounced: [Int] = []
  /// The operations that the server refused for the last token, and has sent nothing for since.
  private var refused: Set<Int> = []
  /// The operations that are sent once the server has read those before them.
  private var unsent = Fifo<Int>()
  /// The operations that the server has refused for now, with the times when they are sent again, and the first of these.
  private var postponed: [Int: Duration] = [:]
  private var nextDue: Duration?
  /// The identifier of what came last, where there is one.
  private var position: String?
  /// How many bytes of operations were sent before the last ping, and after it, that the server may not have read.
  private var unread = (before: 0, after: 0)
  private var actions: [Action] = []

  /// How many bytes of operations may be sent ahead of the server.
  private static let sentAhead = 4 << 20

  init(_ supervisor: LiveSupervisor) {
    self.supervisor = supervisor
  }

  /// Whether it has no operations, no connection, and no pause before the next.
  var isAtRest: Bool { operations.isEmpty && supervisor.state == .idle }

  /// When the machine wants a `tick`.
  var nextWake: Duration? {
    guard supervisor.isOpen else { return supervisor.nextWake }
    return [supervisor.nextWake, answerDue, nextDue].compactMap { $0 }.min()
  }

  mutating func handle(_ input: Input, at now: Duration) -> [Action] {
    switch input {
    case .add(let number, let isReplayable, let size):
      add(number, Operation(isReplayable: isReplayable, size: size), at: now)
    case .remove(let number): remove(number, at: now)
    case .channel(let generation, let event): if generation == supervisor.generation { handle(event, at: now) }
    case .tick: tick(at: now)
    case .notSent(let number, let generation, let error):
      guard generation == supervisor.generation else { break }
      operations[number]?.hasBeenSent = false
      perform(supervisor.lost(LiveFailure(error), at: now), at: now)
    case .stop(let error): stop(error, at: now)
    }
    defer { actions = [] }
    return actions
  }

  private mutating func add(_ number: Int, _ operation: Operation, at now: Duration) {
    operations[number] = operation
    perform(supervisor.need(true, at: now), at: now)
    guard supervisor.isOpen, operations[number]?.id == nil else { return }
    unsent.append(number)
    sendMore(at: now)
  }

  private mutating func remove(_ number: Int, at now: Duration) {
    guard let operation = forget(number) else { return }
    if let id = operation.id, supervisor.isOpen { actions.append(.send(.complete(id: id))) }
    needLess(at: now)
  }

  private mutating func tick(at now: Duration) {
    perform(supervisor.tick(at: now), at: now)
    guard supervisor.isOpen else { return }
    if let nextDue, nextDue <= now {
      for number in postponed.filter({ $0.value <= now }).keys.sorted() {
        postponed[number] = nil
        unsent.append(number)
      }
      self.nextDue = postponed.values.min()
      sendMore(at: now)
    }
    // The connection is alive, or it would have been given up with the ping.
    if let answerDue, answerDue <= now { answered(pings, at: now) }
  }

  /// Tells the server that each operation is complete, and ends the connection and the operations.
  private mutating func stop(_ error: RequestError, at now: Duration) {
    if supervisor.isOpen {
      for (_, operation) in operations.sorted(by: { $0.key < $1.key }) {
        if let id = operation.id { actions.append(.send(.complete(id: id))) }
      }
    }
    perform(supervisor.stop(error), at: now)
  }

  private mutating func handle(_ event: LiveChannelEvent, at now: Duration) {
    switch event {
    case .prepared:
      supervisor.prepared(at: now)
      // From now on the request may be with the server, which may have carried it out before it answers.
      if supervisor.isForOne { for number in operations.keys { operations[number]?.hasBeenSent = true } }
    case .opened(_, let isResumed):
      self.isResumed = isResumed
      perform(supervisor.opened(at: now), at: now)
    case .heard: supervisor.heard(at: now)
    case .pause(let pause): supervisor.setPause(pause)
    case .position(let id): if supervisor.isOpen { position = id }
    case .lost(let failure): perform(supervisor.lost(failure, at: now), at: now)
    case .message(let message):
      if case .keepAlive = message { supervisor.heard(at: now, isKeepAlive: true) } else { supervisor.heard(at: now) }
      handle(message, at: now)
    }
  }

  private mutating func handle(_ message: LiveServerMessage, at now: Duration) {
    switch message {
    case .acknowledged(let silence): perform(supervisor.acknowledged(longestSilence: silence, at: now), at: now)
    case .ping(let payload): actions.append(.send(.pong(payload)))
    case .keepAlive: break
    case .confirmed(let id): if let number = number(of: id) { announce(number) }
    // The answer to a ping answers those before it (RFC 6455, section 5.5.3). One that nobody asked for is legal, and
    // answers nothing; without a number, it cannot be distinguished from the answer to a ping that is on its way.
    case .pong(let number): answered(number ?? pongs + 1, at: now)
    case .next(let id, let result):
      guard let number = number(of: id) else { return }
      announce(number)
      if !refused.isEmpty { refused.remove(number) }
      operations[number]?.refusals = 0
      operations[number]?.hasResult = true
      supervisor.proveToken()
      actions.append(.deliver(number, .value(result)))
    case .complete(let id):
      if let number = number(of: id) { end(number, nil, at: now) }
    case .failed(let id, let failure):
      guard let number = number(of: id) else { return }
      if failure.remedy == .retry, !supervisor.isForOne { return postpone(number, failure, at: now) }
      // A token is the connection's. But what is refused with a new token, too, is refused by itself, although the others
      // may do well with it.
      let isRejection = failure.remedy == .refreshToken
      let isRefusedAgain = isRejection && refused.contains(number) && supervisor.state != .ready
      if failure.remedy == .none || isRefusedAgain || !supervisor.mayRecover(from: failure) {
        end(number, failure, at: now)
      } else {
        if isRejection { refused.insert(number) }
        perform(supervisor.lost(failure, at: now), at: now)
      }
    }
  }

  /// The server has read what was sent before a ping.
  private mutating func answered(_ number: Int, at now: Duration) {
    guard pongs < number, number <= pings else { return }
    pongs = number
    answerDue = pongs < pings ? now + supervisor.pongLimit : nil
    if pongs == pings { unread.before = 0 }
    announceAll()
    sendMore(at: now)
  }

  /// The server refuses an operation for now. That is no matter of the others on the connection.
  private mutating func postpone(_ number: Int, _ failure: LiveFailure, at now: Duration) {
    guard var operation = operations[number] else { return }
    operation.refusals = operation.sentAt + supervisor.stableTime <= now ? 1 : operation.refusals + 1
    guard operation.isReplayable, supervisor.mayRetry(after: operation.refusals) else {
      return end(number, failure, at: now)
    }
    complete(operation, after: failure)
    if let id = operation.id { numbers[id] = nil }
    (operation.id, operation.announcement) = (nil, nil)
    operations[number] = operation
    let pause = supervisor.pause(asked: failure.error.retryAfter, after: operation.refusals)
    postponed[number] = now + pause
    nextDue = min(nextDue ?? now + pause, now + pause)
    actions.append(.deliver(number, .disconnected(failure.error, retryAfter: pause)))
  }

  /// Ends an operation at the server if that has only sent a result, and not the message that ends it.
  private mutating func complete(_ operation: Operation, after failure: LiveFailure) {
    if failure.isResult, let id = operation.id { actions.append(.send(.complete(id: id))) }
  }

  private func number(of id: String?) -> Int? {
    guard supervisor.isOpen else { return nil }
    guard let id else { return operations.first { $0.value.id != nil }?.key }
    return numbers[id]
  }

  private mutating func perform(_ steps: [LiveSupervisor.Action], at now: Duration) {
    for step in steps {
      switch step {
      case .dial(let refreshingToken):
        actions.append(
          .dial(generation: supervisor.generation, refreshingToken: refreshingToken, after: position))
      case .start:
        (pings, pongs, answerDue, unannounced) = (0, 0, nil, [])
        (unsent, unread) = (Fifo(), (0, 0))
        (postponed, nextDue) = ([:], nil)
        for number in operations.keys.sorted() { unsent.append(number) }
        sendMore(at: now)
      case .ping:
        pings += 1
        unread = (unread.before + unread.after, 0)
        answerDue = answerDue ?? now + supervisor.pongLimit
        actions.append(.send(.ping(pings)))
      case .close: actions.append(.closeChannel(code: 1000))
      case .drop(let code):
        actions.append(.dropChannel(code: code))
        for number in operations.keys {
          operations[number]?.id = nil
          operations[number]?.announcement = nil
        }
        numbers = [:]
      case .retry(let error, let pause):
        endUnreplayable(error)
        // Only rejections in a row count: an attempt that was lost may have taken the new token nowhere.
        if !supervisor.hasRefreshed { refused = [] }
        for number in operations.keys.sorted() {
          actions.append(.deliver(number, .disconnected(error, retryAfter: pause)))
        }
        needLess(at: now)
      case .fail(let error):
        for (number, operation) in operations.sorted(by: { $0.key < $1.key }) {
          let mayBeDone = operation.mayBeDone(after: error, isForOne: supervisor.isForOne)
          actions.append(.end(number, mayBeDone ? error.reaching : error))
        }
        (operations, refused) = ([:], [])
        needLess(at: now)
      }
    }
  }

  /// Ends the operations that the server may have carried out, and must not carry out twice.
  private mutating func endUnreplayable(_ error: RequestError) {
    for (number, operation) in operations.sorted(by: { $0.key < $1.key })
    where operation.hasBeenSent && !operation.isReplayable {
      guard operation.mayBeDone(after: error, isForOne: supervisor.isForOne) else {
        operations[number]?.hasBeenSent = false
        continue
      }
      actions.append(.end(number, error.reaching))
      operations[number] = nil
      refused.remove(number)
    }
  }

  /// Sends what waits, as far as the server keeps up.
  private mutating func sendMore(at now: Duration) {
    while !supervisor.canPing || unread.before + unread.after < Self.sentAhead, let number = unsent.popFirst() {
      send(number, at: now)
    }
    confirm(at: now)
  }

  private mutating func send(_ number: Int, at now: Duration) {
    guard let operation = operations[number] else { return }
    lastID += 1
    let id = String(lastID)
    numbers[id] = number
    operations[number]?.id = id
    operations[number]?.hasBeenSent = true
    operations[number]?.sentAt = now
    operations[number]?.announcement = !operation.wasConnected ? .connected : isResumed ? .resumed : .reconnected
    // A ping that is on its way was sent before this.
    operations[number]?.ping = pings + 1
    unannounced.append(number)
    unread.after += operation.size
    actions.append(.send(.subscribe(id: id, operation: number)))
  }

  /// Sees to it that operations that were sent are announced, and that others are sent: by a ping, one at a time, if the
  /// protocol has them. Nothing has to be done for a server that confirms operations by itself.
  private mutating func confirm(at now: Duration) {
    if supervisor.confirmsOperations { unannounced = [] }
    guard !unannounced.isEmpty || !unsent.isEmpty else { return }
    guard supervisor.canPing else { return announceAll() }
    if pings == pongs { perform([supervisor.ping(at: now)], at: now) }
  }

  private mutating func announceAll() {
    var waiting: [Int] = []
    for number in unannounced {
      guard let operation = operations[number], operation.announcement != nil else { continue }
      if supervisor.canPing, operation.ping > pongs { waiting.append(number) } else { announce(number) }
    }
    unannounced = waiting
  }

  private mutating func announce(_ number: Int) {
    guard let announcement = operations[number]?.announcement else { return }
    operations[number]?.announcement = nil
    operations[number]?.wasConnected = true
    actions.append(.deliver(number, announcement))
  }

  private mutating func end(_ number: Int, _ failure: LiveFailure?, at now: Duration) {
    let operation = forget(number)
    if let operation, let failure { complete(operation, after: failure) }
    let isDone = operation.map { $0.hasResult && !$0.isReplayable } ?? false
    actions.append(.end(number, isDone ? failure?.error.reaching : failure?.error))
    needLess(at: now)
  }

  private mutating func forget(_ number: Int) -> Operation? {
    guard let operation = operations.removeValue(forKey: number) else { return nil }
    refused.remove(number)
    postponed[number] = nil
    if let id = operation.id { numbers[id] = nil }
    return operation
  }

  private mutating func needLess(at now: Duration) {
    if operations.isEmpty { perform(supervisor.need(false, at: now), at: now) }
  }
}

extension RequestError {
  /// The error of an operation that the server may have carried out.
  fileprivate var reaching: RequestError {
    var error = self
    error.reached = .maybe
    return error
  }
}

extension LiveServerMessage {
  /// A result of the operation that the connection carries, or of the one with this id; if it says that the token is not
  /// valid, or that the server's schema changes, it is a failure.
  static func result(_ result: Data, id: String? = nil) -> LiveServerMessage {
    for code in [GraphQLError.unauthenticatedCode, "SUBSCRIPTION_"] {
      let errors = result.errorsWithoutData(naming: code)
      guard LiveFailure.remedy(of: errors) != .none else { continue }
      var failure = LiveFailure(RequestError(graphQL: errors))
      failure.isResult = true
      return .failed(id: id, failure)
    }
    return .next(id: id, result)
  }
}
