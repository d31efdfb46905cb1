import CHiredis
import Foundation

/// Where Redis, or Valkey, is.
public struct RedisServer: Sendable {
  /// A name or an address.
  public var host: String

  /// A port; 6379 by default.
  public var port: Int

  /// A password, for a server that wants one.
  public var password: String?

  /// Makes an address.
  public init(host: String = "127.0.0.1", port: Int = 6379, password: String? = nil) {
    self.host = host
    self.port = port
    self.password = password
  }
}

/// Why Redis has not done something.
public enum RedisError: Error, Sendable {
  /// There is no connection, for a reason such as a wrong password; a new one is tried ten times a second.
  case notConnected(String)

  /// The connection was lost, or there was no reply in time.
  case connectionLost(String)

  /// Redis has refused a command, such as for a lack of memory.
  case refused(String)

  /// A reply is not of the kind that the command has.
  case unexpectedReply
}

extension RedisError {
  static var closed: Self { .notConnected("It was closed here.") }
}

/// A reply to a command.
enum RedisReply: Sendable {
  case bytes([UInt8])
  case number(Int)
  case list([RedisReply])
  case null
}

/// A blocking connection, used by one thread alone.
final class RedisContext {
  private let context: UnsafeMutablePointer<redisContext>
  private let timeLimit: Duration

  /// Connects within the limit, which also holds for the calls afterwards.
  init(_ server: RedisServer, timeLimit: Duration) throws {
    let limit = timevalue(timeLimit)
    guard let context = redisConnectWithTimeout(server.host, Int32(server.port), limit) else {
      throw RedisError.notConnected("There is no memory for it.")
    }
    self.context = context
    self.timeLimit = timeLimit
    if context.pointee.err != 0 { throw lost }
    redisSetTimeout(context, limit)
    if let password = server.password { _ = try call("AUTH", password) }
  }

  deinit { redisFree(context) }

  /// Adds a command to those that are sent with the next wait for a reply.
  func append(_ words: [[UInt8]]) {
    let starts = words.map { word -> UnsafePointer<CChar>? in
      let copy = UnsafeMutablePointer<CChar>.allocate(capacity: max(word.count, 1))
      for (place, byte) in word.enumerated() { copy[place] = CChar(bitPattern: byte) }
      return UnsafePointer(copy)
    }
    defer { for start in starts { start?.deallocate() } }
    var (pointers, lengths) = (starts, words.map(\.count))
    redisAppendCommandArgv(context, Int32(words.count), &pointers, &lengths)
  }

  /// The next reply, which may be a refusal; throws if it is not complete in time, however slowly it comes.
  func reply(until deadline: ContinuousClock.Instant) throws -> Result<RedisReply, any Error> {
    guard let reply = try next(until: deadline) else {
      throw RedisError.connectionLost("Redis has not replied in time.")
    }
    return reply
  }

  /// The next message of a subscription; `nil` if none comes in time, after which the context can still be used.
  func message(within limit: Duration) throws -> RedisReply? { try next(until: .now + limit)?.get() }

  private func next(until deadline: ContinuousClock.Instant) throws -> Result<RedisReply, any Error>? {
    while true {
      var reply: UnsafeMutableRawPointer?
      guard redisGetReplyFromReader(context, &reply) == REDIS_OK else { throw lost }
      if let reply {
        defer { freeReplyObject(reply) }
        return Result { try Self.value(reply.assumingMemoryBound(to: redisReply.self).pointee, depth: 0) }
      }
      var event = pollfd(fd: context.pointee.fd, events: Int16(POLLIN), revents: 0)
      let milliseconds = ((deadline - .now) / .milliseconds(1)).rounded(.up)
      if milliseconds <= 0 || poll(&event, 1, Int32(milliseconds)) == 0 { return nil }
      guard redisBufferRead(context) == REDIS_OK else { throw lost }
    }
  }

  /// Sends what was added.
  func flush(until deadline: ContinuousClock.Instant) throws {
    var isDone: Int32 = 0
    while isDone == 0 {
      if deadline < .now { throw RedisError.connectionLost("Redis takes too long to take commands.") }
      guard redisBufferWrite(context, &isDone) == REDIS_OK else { throw lost }
    }
  }

  /// Whether the other side has closed the connection, while no reply is awaited.
  var isEnded: Bool {
    var event = pollfd(fd: context.pointee.fd, events: Int16(POLLIN), revents: 0)
    return poll(&event, 1, 0) > 0
  }

  /// Sends a command and waits for its reply.
  func call(_ words: String...) throws -> RedisReply {
    append(words.map { Array($0.utf8) })
    let deadline = ContinuousClock.now + timeLimit
    try flush(until: deadline)
    return try reply(until: deadline).get()
  }

  private var lost: RedisError {
    let text = withUnsafeBytes(of: context.pointee.errstr) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    return .connectionLost(text)
  }

  private static func value(_ reply: redisReply, depth: Int) throws -> RedisReply {
    switch reply.type {
    case REDIS_REPLY_STRING, REDIS_REPLY_STATUS, REDIS_REPLY_ERROR:
      let bytes = reply.str.map { Array(UnsafeRawBufferPointer(start: $0, count: Int(reply.len))) } ?? []
      if reply.type == REDIS_REPLY_ERROR { throw RedisError.refused(String(decoding: bytes, as: UTF8.self)) }
      return .bytes(bytes)
    case REDIS_REPLY_INTEGER: return .number(Int(reply.integer))
    case REDIS_REPLY_ARRAY where depth < 8:
      return .list(
        try (0..<Int(reply.elements)).map { place in
          try reply.element[place].map { try value($0.pointee, depth: depth + 1) } ?? .null
        })
    default: return .null
    }
  }
}

private func timevalue(_ duration: Duration) -> timeval {
  let (seconds, attoseconds) = duration.components
  return timeval(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
}
