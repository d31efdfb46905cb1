import CHiredis
import Dispatch
import Foundation
import Synchronization

/// A connection with a thread of its own, which sends what waits in one go and reads the replies: callers never block,
/// and many of them at once cost hardly more than one.
///
/// `@unchecked Sendable`: all that changes is accessed under `condition`; the context belongs to the thread.
final class RedisConnection: @unchecked Sendable {
  private struct Call {
    let words: [[UInt8]]
    /// The limit is the call's, whatever it has to wait for: its turn, the line, and each piece of the reply.
    let deadline: ContinuousClock.Instant
    let completion: @Sendable (Result<RedisReply, any Error>) -> Void
  }

  private let server: RedisServer
  private let timeLimit: Duration
  /// Prepares a new connection, before the first call on it.
  private let prepare: @Sendable (RedisContext) throws -> Void
  /// Called once commands can be sent, also after each loss of the connection.
  private let onReady: @Sendable () -> Void
  private let condition = NSCondition()
  private var isClosed = false
  private var waiting: [Call] = []
  /// After a failure, calls fail at once, with it, until the thread has connected again.
  private var failure: (any Error)?
  private var isPrepared = false

  init(
    _ server: RedisServer, timeLimit: Duration, preparing prepare: @escaping @Sendable (RedisContext) throws -> Void,
    onReady: @escaping @Sendable () -> Void
  ) {
    self.server = server
    self.timeLimit = timeLimit
    self.prepare = prepare
    self.onReady = onReady
    Thread.detachNewThread { self.run() }
  }

  func close() {
    condition.withLock {
      isClosed = true
      condition.signal()
    }
  }

  /// Whether it is connected and prepared.
  var isReady: Bool { condition.withLock { isPrepared && failure == nil && !isClosed } }

  /// Sends a command; fails within the limit.
  func send(_ words: [[UInt8]]) async throws -> RedisReply {
    try await withCheckedThrowingContinuation { continuation in send(words) { continuation.resume(with: $0) } }
  }

  /// Sends a command, and waits on this thread for the reply, which comes on the connection's own.
  func sendAndWait(_ words: [[UInt8]]) throws -> RedisReply {
    let reply = Mutex<Result<RedisReply, any Error>>(.failure(RedisError.closed))
    let arrived = DispatchSemaphore(value: 0)
    send(words) { result in
      reply.withLock { $0 = result }
      arrived.signal()
    }
    arrived.wait()
    return try reply.withLock { $0 }.get()
  }

  private func send(_ words: [[UInt8]], then completion: @escaping @Sendable (Result<RedisReply, any Error>) -> Void) {
    let call = Call(words: words, deadline: .now + timeLimit, completion: completion)
    let refusal = condition.withLock { () -> (any Error)? in
      if isClosed { return RedisError.closed }
      if let failure { return failure }
      waiting.append(call)
      condition.signal()
      return nil
    }
    if let refusal { completion(.failure(refusal)) }
  }

  private func run() {
    var context: RedisContext?
    var idleRounds = 0
    while true {
      if context == nil {
        do {
          let new = try RedisContext(server, timeLimit: timeLimit)
          try prepare(new)
          context = new
          condition.withLock { (failure, isPrepared) = (nil, true) }
          onReady()
        } catch {
          fail(error)
        }
      }
      let calls: [Call]? = condition.withLock {
        if waiting.isEmpty || context == nil, !isClosed {
          _ = condition.wait(until: Date(timeIntervalSinceNow: 0.1))
        }
        if isClosed { return nil }
        if context == nil { return [] }
        defer { waiting = [] }
        return waiting
      }
      guard let calls else { return fail(RedisError.closed) }
      guard let connected = context else { continue }
      idleRounds = calls.isEmpty ? idleRounds + 1 : 0
      let isAlive = calls.isEmpty ? check(connected, byPing: idleRounds % 10 == 0) : carryOut(calls, connected)
      if !isAlive { context = nil }
    }
  }

  /// Whether a connection that is not used is still there. Redis reports nothing for one that is lost, so without this
  /// a process that has all it needs in memory would miss what others change.
  private func check(_ context: RedisContext, byPing: Bool) -> Bool {
    do {
      if context.isEnded { throw RedisError.connectionLost("Redis has closed the connection.") }
      if byPing { _ = try context.call("PING") }
      return true
    } catch {
      fail(error)
      return false
    }
  }

  /// Returns `false` if the connection has failed.
  private func carryOut(_ calls: [Call], _ context: RedisContext) -> Bool {
    for call in calls { context.append(call.words) }
    do {
      if let first = calls.first { try context.flush(until: first.deadline) }
    } catch {
      for call in calls { call.completion(.failure(error)) }
      fail(error)
      return false
    }
    for (place, call) in calls.enumerated() {
      do {
        call.completion(try context.reply(until: call.deadline))
      } catch {
        for call in calls[place...] { call.completion(.failure(error)) }
        fail(error)
        return false
      }
    }
    return true
  }

  private func fail(_ error: any Error) {
    let calls = condition.withLock {
      failure = error
      defer { waiting = [] }
      return waiting
    }
    for call in calls { call.completion(.failure(error)) }
  }
}
