import Foundation
public import Stores
public import Streams
import Synchronization

/// One partition of a cache that all processes share, as the source of truth of their stores.
///
///     let redis = Redis(RedisServer(host: "cache"))
///     let tier = RedisStore<String, User>(redis, partition: account)
///     let users = Store<String, User>(storage: .async(tier)) { id in
///       try await tier.fetch(id) { try await service.user(id) }  // by one process at a time
///     }
///
/// Keys and values are JSON. A value expires after ``lifetime``, give or take a tenth, so that not all expire at once.
public final class RedisStore<Key: Codable & Hashable & Sendable, Value: Codable & Sendable>: AsyncSourceOfTruth {
  /// How long a value is kept after its last write.
  public let lifetime: Duration

  /// How long a process that asks the origin may be silent before another one takes over.
  public let leaseTime: Duration

  private let redis: Redis
  private let name: [UInt8]
  /// The last lease of this process for each key: an earlier one has been lost by then.
  private let leases = Mutex<[Key: Held]>([:])
  /// The greatest versions that this process has written or read, and when it last did: a value with another one is news.
  private let versions = Mutex<[Key: (version: String, at: ContinuousClock.Instant)]>([:])

  /// Makes a partition; does not wait for Redis.
  public init(
    _ redis: Redis, partition: String = "", lifetime: Duration = .seconds(86_400), leaseTime: Duration = .seconds(3)
  ) {
    self.redis = redis
    self.lifetime = lifetime
    self.leaseTime = leaseTime
    // With its length, so that no partition and key read like another partition and another key.
    name = "\(partition.utf8.count):\(partition):".bytes
  }

  /// That of the connection.
  public var timeLimit: Duration { redis.timeLimit }

  /// What other processes change, on the thread on which Redis reports it; and all, whenever it was away.
  public var changes: Observable<SourceChange<Key>> {
    let prefix = valuePrefix
    return redis.invalidations.asObservable().compactMap { invalidation -> SourceChange<Key>? in
      guard case .key(let name) = invalidation else { return .all }
      return Self.key(of: name, after: prefix).map { .key($0) }
    }
  }

  /// How long removals and invalidations are remembered, so that a write that an outage has delayed does not undo them.
  public static var memoryOfRemovals: Duration { .seconds(3_600) }

  /// The value of a key; `nil` also if it is not JSON of this type.
  public func read(_ key: Key) async throws -> StoredValue<Value>? {
    let reply = try await redis.send(["HMGET".bytes, try valueName(key), "d".bytes, "w".bytes, "i".bytes, "v".bytes])
    guard case .list(let fields) = reply, fields.count == 4 else { throw RedisError.unexpectedReply }
    guard case .bytes(let data) = fields[0], case .bytes(let time) = fields[1], case .bytes(let mark) = fields[2],
      case .bytes(let version) = fields[3], let microseconds = Int64(String(decoding: time, as: UTF8.self)),
      let value = try? JSONDecoder().decode(Value.self, from: Data(data))
    else {
      note("0", for: key)
      return nil
    }
    note(String(decoding: version, as: UTF8.self), for: key)
    return StoredValue(
      value, writtenAt: StoreTime(microseconds: microseconds), isInvalidated: mark == "1".bytes,
      version: EntryVersion(digits: version))
  }

  /// A response is written with the lease under which it was fetched, or not at all: of two fetches of a key in this
  /// process, the earlier one has lost its lease.
  public func write(
    _ stored: StoredValue<Value>, for key: Key, isResponse: Bool
  ) async throws -> SourceWriteResult {
    let data = try Self.encode(stored.value)
    var token = ""
    if isResponse {
      guard let held = leases.withLock({ $0[key] }), held.response == data.hashValue, release(held.token, for: key)
      else { return .superseded(by: .zero) }
      token = held.token
    }
    // Before it is sent: a read by `networkOnly` must not take it for the news of another process.
    note(stored.version.digits, for: key)
    let expiry = lifetime * Double.random(in: 0.9...1.1) / .milliseconds(1)
    let reply = try await redis.run(
      .write, keys: try [valueName(key), leaseName(key), counterName, removalName],
      [
        data, "\(stored.writtenAt.microseconds)".bytes, (stored.isInvalidated ? "1" : "0").bytes,
        "\(Int(expiry))".bytes, token.bytes, stored.version.digits.bytes,
      ])
    guard case .list(let parts) = reply, parts.count == 2, case .number(let number) = parts[0],
      case .bytes(let known) = parts[1]
    else { throw RedisError.unexpectedReply }
    return number > 0 ? .done : .superseded(by: EntryVersion(digits: known))
  }

  /// Marks a value; a response that is on its way will not replace it.
  public func invalidate(_ key: Key, version: EntryVersion) async throws -> SourceWriteResult {
    try await change(.invalidate, keys: try [valueName(key), leaseName(key), counterName], version)
  }

  /// Removes a value; a response that is on its way will not be written.
  public func remove(_ key: Key, version: EntryVersion) async throws -> SourceWriteResult {
    try await change(.remove, keys: try [valueName(key), leaseName(key)], version)
  }

  private func change(
    _ script: Script, keys: [[UInt8]], _ version: EntryVersion
  ) async throws -> SourceWriteResult {
    let reply = try await redis.run(
      script, keys: keys, [version.digits.bytes, Self.milliseconds(Self.memoryOfRemovals)])
    guard case .bytes(let known) = reply else { throw RedisError.unexpectedReply }
    return known.isEmpty ? .done : .superseded(by: EntryVersion(digits: known))
  }

  /// Removes what is there when this begins, in steps of about a thousand.
  public func removeAll(version: EntryVersion) async throws {
    // First, so that no write comes between; and at the end, since a Redis without memory may refuse it before.
    _ = try? await noteRemoval(version)
    for prefix in [leasePrefix, valuePrefix] {
      for names in try await names(after: prefix).chunks(of: 1_000) { _ = try await redis.send(["DEL".bytes] + names) }
    }
    _ = try await noteRemoval(version)
  }

  private func noteRemoval(_ version: EntryVersion) async throws -> RedisReply {
    try await redis.run(
      .noteRemovalOfAll, keys: [removalName], [version.digits.bytes, Self.milliseconds(Self.memoryOfRemovals)])
  }

  /// The keys of the partition; scans the database.
  public func keys() async throws -> [Key] {
    var keys: [Key] = []
    for names in try await names(after: valuePrefix).chunks(of: 1_000) {
      // What is left of a removed value has none.
      guard case .list(let found) = try await redis.run(.haveValues, keys: Array(names), []) else {
        throw RedisError.unexpectedReply
      }
      for case (let name, .number(1)) in zip(names, found) {
        if let key = Self.key(of: name, after: valuePrefix) { keys.append(key) }
      }
    }
    return keys
  }

  /// Asks the origin, unless another process does: then this waits for its value. One that dies, or fails, is followed
  /// by another one; one that takes longer than ten leases is no longer waited for. While Redis is away, every process
  /// asks the origin itself. A store has to return the value as it is, since the lease is for that response alone.
  public func fetch(_ key: Key, from origin: @Sendable () async throws -> Value) async throws -> Value {
    let token = UUID().uuidString
    let deadline = ContinuousClock.now + leaseTime * 10
    // What was read for this very request; of an earlier read, nobody knows what the request is for.
    var known =
      versions.withLock { versions in
        versions[key].flatMap { $0.at > .now - timeLimit ? $0.version : nil }
      } ?? ""
    while ContinuousClock.now < deadline {
      guard let lease = try? await acquire(key, token, known: known) else { break }
      switch lease {
      case .granted: return try await lead(key, token, origin)
      case .value(let value): return value
      // Such as that of another version of the program: the lease is taken in its place.
      case .unreadable(let version): known = version
      case .isTaken(let version):
        if known.isEmpty { known = version }
        try await Task.sleep(for: .milliseconds(Int.random(in: 5...25)))
      }
    }
    return try await origin()
  }

  /// A lease that was granted, and the hash of the response that it is for, once there is one.
  private struct Held {
    let token: String
    var response: Int?
  }

  private enum Lease {
    case granted
    case value(Value)
    case unreadable(version: String)
    case isTaken(version: String)
  }

  private func acquire(_ key: Key, _ token: String, known: String) async throws -> Lease {
    let reply = try await redis.run(
      .acquire, keys: try [valueName(key), leaseName(key)],
      [token.bytes, "\(Int(leaseTime / .milliseconds(1)))".bytes, known.bytes])
    guard case .list(let parts) = reply, parts.count >= 2, case .bytes(let kind) = parts[0],
      case .bytes(let version) = parts[1]
    else { throw RedisError.unexpectedReply }
    if kind == "lease".bytes { return .granted }
    let number = String(decoding: version, as: UTF8.self)
    guard kind == "value".bytes else { return .isTaken(version: number) }
    guard parts.count == 3, case .bytes(let data) = parts[2],
      let value = try? JSONDecoder().decode(Value.self, from: Data(data))
    else { return .unreadable(version: number) }
    return .value(value)
  }

  private func lead(_ key: Key, _ token: String, _ origin: @Sendable () async throws -> Value) async throws -> Value {
    leases.withLock { $0[key] = Held(token: token) }
    let name = try leaseName(key)
    let renewing = Task { [redis, leaseTime] in
      while true {
        try await Task.sleep(for: leaseTime / 3)
        _ = try? await redis.run(.renew, keys: [name], [token.bytes, "\(Int(leaseTime / .milliseconds(1)))".bytes])
      }
    }
    defer { renewing.cancel() }
    do {
      let value = try await origin()
      let response = try? Self.encode(value).hashValue
      leases.withLock { if $0[key]?.token == token { $0[key]?.response = response } }
      return value
    } catch {
      release(token, for: key)
      _ = try? await redis.run(.release, keys: [name], [token.bytes])
      throw error
    }
  }

  /// Forgets a lease; returns `false` if another one has taken its place.
  @discardableResult
  private func release(_ token: String, for key: Key) -> Bool {
    leases.withLock { leases in
      guard leases[key]?.token == token else { return false }
      leases[key] = nil
      return true
    }
  }

  private func note(_ version: String, for key: Key) {
    versions.withLock { versions in
      // Without a number, only the origin is asked once more.
      if versions.count >= 1 << 16 { versions = [:] }
      // The greater one, since what was read before a write may be noted after it.
      versions[key] = (max(version, versions[key]?.version ?? version), .now)
    }
  }
}

/// The names of keys in Redis.
extension RedisStore {
  private var valuePrefix: [UInt8] { "\(redis.prefix)v:".bytes + name }
  private var leasePrefix: [UInt8] { "\(redis.prefix)l:".bytes + name }
  private var counterName: [UInt8] { "\(redis.prefix)n".bytes }
  private var removalName: [UInt8] { "\(redis.prefix)r:".bytes + name }

  private static func milliseconds(_ duration: Duration) -> [UInt8] { "\(Int(duration / .milliseconds(1)))".bytes }

  private func valueName(_ key: Key) throws -> [UInt8] { valuePrefix + (try Self.encode(key)) }
  private func leaseName(_ key: Key) throws -> [UInt8] { leasePrefix + (try Self.encode(key)) }

  private static func encode(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value))
  }

  private static func key(of name: [UInt8], after prefix: [UInt8]) -> Key? {
    guard name.starts(with: prefix) else { return nil }
    return try? JSONDecoder().decode(Key.self, from: Data(name.dropFirst(prefix.count)))
  }

  private func names(after prefix: [UInt8]) async throws -> [[UInt8]] {
    // In a pattern, some bytes have a meaning.
    let pattern = prefix.flatMap { "*?[]\\".utf8.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] } + "*".bytes
    var (names, cursor) = (Set<[UInt8]>(), "0".bytes)
    repeat {
      let reply = try await redis.send(["SCAN".bytes, cursor, "MATCH".bytes, pattern, "COUNT".bytes, "1000".bytes])
      guard case .list(let parts) = reply, parts.count == 2, case .bytes(let next) = parts[0],
        case .list(let found) = parts[1]
      else { throw RedisError.unexpectedReply }
      for case .bytes(let name) in found { names.insert(name) }
      cursor = next
    } while cursor != "0".bytes
    return Array(names)
  }
}

extension EntryVersion {
  /// As many digits as any has, so that they compare like the numbers.
  fileprivate var digits: String { Self.digits(UInt64(clamping: time)) + Self.digits(writer) }

  fileprivate init(digits: [UInt8]) {
    let text = String(decoding: digits, as: UTF8.self)
    guard let time = Int64(text.prefix(20)), let writer = UInt64(text.dropFirst(20)) else {
      self = .zero
      return
    }
    self.init(time: time, writer: writer)
  }

  private static func digits(_ number: UInt64) -> String {
    let digits = String(number)
    return String(repeating: "0", count: 20 - digits.count) + digits
  }
}

extension Array {
  fileprivate func chunks(of count: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
  }
}
