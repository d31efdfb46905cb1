import CHiredis
import Foundation

/// A connection with a thread of its own, which sends what waits in one go and reads the replies: callers never block,
/// and many of them at once cost hardly more than one.
///
/// `@unchecked Sendable`: all that changes is accessed under `condition`; the context belongs to the thread.
final class RedisConnection: @unchecked Sendable {
  private struct Call {
    let words: [[UInt8]]
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
  /// After a failure, calls fail at once until the thread has connected again.
  private var hasFailed = false
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
  var isReady: Bool { condition.withLock { isPrepared && !hasFailed && !isClosed } }

  /// Sends a command; fails within the limit.
  func send(_ words: [[UInt8]]) async throws -> RedisReply {
    try await withCheckedThrowingContinuation { continuation in
      let call = Call(words: words) { continuation.resume(with: $0) }
      let isRefused = condition.withLock {
        if isClosed || hasFailed { return true }
        waiting.append(call)
        condition.signal()
        return false
      }
      if isRefused { continuation.resume(throwing: RedisError.notConnected) }
    }
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
          condition.withLock { (hasFailed, isPrepared) = (false, true) }
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
      guard let calls else { return fail(RedisError.notConnected) }
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
    for (place, call) in calls.enumerated() {
      do {
        call.completion(try context.reply())
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
      hasFailed = true
      defer { waiting = [] }
      return waiting
    }
    for call in calls { call.completion(.failure(error)) }
  }
}
