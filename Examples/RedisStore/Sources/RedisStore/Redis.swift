import Foundation
import Streams
import Synchronization

/// A process's connections to one Redis: one for commands, and one on which Redis reports what others have changed.
///
/// Each has a thread of its own. The second one subscribes to the invalidations of client-side tracking, which Redis
/// redirects to it (RESP2); all keys with the prefix are tracked, so Redis keeps no table of who has read what.
public final class Redis: Sendable {
  /// How long Redis may take for anything; 100 milliseconds by default.
  public let timeLimit: Duration

  let prefix: String
  let invalidations = PublishSubject<Invalidation>()
  private let connection = Mutex<RedisConnection?>(nil)
  /// Why there is no connection.
  private let failure = Mutex<RedisError>(.notConnected("It is only just being made."))
  private let server: RedisServer
  private let onFailure: @Sendable (RedisError) -> Void

  /// What Redis reports.
  enum Invalidation: Sendable {
    case key([UInt8])
    case all
  }

  /// Begins to connect, and returns at once.
  /// - Parameters:
  ///   - prefix: What the names of all keys begin with; no other use of this Redis may begin its keys with it.
  ///   - timeLimit: How long any call may take, as a whole.
  ///   - onFailure: Called when Redis cannot be connected to, or the connection is lost, and again when the reason is
  ///     another one, on a thread of its own; by default, it is written to standard error. Until then, and while it lasts,
  ///     calls fail with the same error, which a store reports to `onStorageError`.
  public init(
    _ server: RedisServer = RedisServer(), prefix: String = "store:", timeLimit: Duration = .milliseconds(100),
    onFailure: (@Sendable (RedisError) -> Void)? = nil
  ) {
    self.onFailure = onFailure ?? { error in FileHandle.standardError.write(Data("Redis: \(error)\n".utf8)) }
    self.server = server
    self.prefix = prefix
    self.timeLimit = timeLimit
    Thread.detachNewThread { [weak self] in Redis.listen(server, timeLimit: timeLimit) { self } }
  }

  deinit { replaceConnection(by: nil) }

  /// Waits at most a second until commands can be sent; for programs that want the tier from their first read on.
  public func waitUntilConnected() {
    for _ in 0..<1_000 where connection.withLock({ $0?.isReady }) != true { Thread.sleep(forTimeInterval: 0.001) }
  }

  /// Sends a command; fails within the limit, and at once while Redis is away.
  func send(_ words: [[UInt8]]) async throws -> RedisReply {
    guard let connection = connection.withLock({ $0 }) else { throw failure.withLock { $0 } }
    return try await connection.send(words)
  }

  /// Sends a command, and waits for the reply on this thread, at most for the limit.
  func sendAndWait(_ words: [[UInt8]]) throws -> RedisReply {
    guard let connection = connection.withLock({ $0 }) else { throw failure.withLock { $0 } }
    return try connection.sendAndWait(words)
  }

  /// Runs a script on one key or several.
  func run(_ script: Script, keys: [[UInt8]], _ arguments: [[UInt8]]) async throws -> RedisReply {
    try await send(["EVAL".bytes, script.text.bytes, "\(keys.count)".bytes] + keys + arguments)
  }

  /// The thread of the connection for invalidations: connects, lets the other one be tracked, and reads until it is lost.
  private static func listen(_ server: RedisServer, timeLimit: Duration, _ redis: () -> Redis?) {
    while redis() != nil {
      do {
        let context = try RedisContext(server, timeLimit: timeLimit)
        guard case .number(let id) = try context.call("CLIENT", "ID") else { throw RedisError.unexpectedReply }
        _ = try context.call("SUBSCRIBE", "__redis__:invalidate")
        guard redis()?.track(redirectingTo: id) != nil else { return }
        var awaitsPong = false
        while redis() != nil {
          guard let message = try context.message(within: .seconds(1)) else {
            // Nothing for a second: the line may be dead, which only a reply can disprove.
            if awaitsPong { throw RedisError.connectionLost("Redis has not answered a ping.") }
            awaitsPong = true
            context.append(["PING".bytes])
            try context.flush(until: .now + timeLimit)
            continue
          }
          awaitsPong = false
          if case .list(let parts) = message, parts.count == 3 { redis()?.report(parts[2]) }
        }
      } catch {
        redis()?.fail(error)
        Thread.sleep(forTimeInterval: 0.1)
      }
    }
  }

  /// Replaces the connection for commands by one whose prefix is tracked before anything is read on it. What came before
  /// may have been missed.
  private func track(redirectingTo id: Int) {
    let new = RedisConnection(server, timeLimit: timeLimit) { [prefix] context in
      _ = try context.call(
        "CLIENT", "TRACKING", "ON", "REDIRECT", "\(id)", "BCAST", "PREFIX", "\(prefix)v:", "NOLOOP")
    } onReady: { [weak self] in
      self?.invalidations.onNext(.all)
    }
    replaceConnection(by: new)
  }

  private func fail(_ error: any Error) {
    let reason: RedisError =
      switch error as? RedisError {
      case .notConnected(let text)?, .connectionLost(let text)?, .refused(let text)?: .notConnected(text)
      case let other: other ?? .unexpectedReply
      }
    let isNew = failure.withLock { failure in
      defer { failure = reason }
      return "\(failure)" != "\(reason)"
    }
    if isNew { onFailure(reason) }
    replaceConnection(by: nil)
  }

  private func replaceConnection(by new: RedisConnection?) {
    let old = connection.withLock { connection in
      defer { connection = new }
      return connection
    }
    old?.close()
  }

  private func report(_ message: RedisReply) {
    guard case .list(let keys) = message else { return invalidations.onNext(.all) }
    for case .bytes(let key) in keys { invalidations.onNext(.key(key)) }
  }
}

extension String {
  var bytes: [UInt8] { Array(utf8) }
}
