public import Stores
public import Streams

/// One partition of a normalised cache that all processes share, in Redis: what one of them writes, removes or invalidates
/// shows in the watchers of all.
///
///     let redis = Redis(RedisServer(host: "cache"))  // one for a process
///     let store = NormalizedStore(client, schema: schema, storage: RedisRecords(redis, partition: account))
///
/// The records are a list: the entries of a journal, each of which begins with its position. A process has one store of
/// a partition: Redis reports to it what others have written. Calls wait on their thread, at most for
/// ``Redis/timeLimit``; `load()` of the store makes the first read on a thread of its own.
public final class RedisRecords: RecordStorage {
  /// How long the records are kept after the last write. When they expire, all processes forget them.
  public let lifetime: Duration

  private let redis: Redis
  private let name: [UInt8]
  private let refusalName: [UInt8]

  /// Makes a partition; does not wait for Redis.
  public init(_ redis: Redis, partition: String = "", lifetime: Duration = .seconds(7 * 86_400)) {
    (self.redis, self.lifetime) = (redis, lifetime)
    // Under the prefix of values, whose changes Redis reports. No partition of a `RedisStore` begins like this.
    name = "\(redis.prefix)v:records:\(partition)".bytes
    refusalName = "\(redis.prefix)f:records:\(partition)".bytes
  }

  /// The entries after a position: as many of the end as there must be, or all, if those are others.
  public func read(after position: RecordPosition?) throws -> RecordTail {
    let last = try entries(from: -1).last?.position
    guard let last else { return RecordTail(last: nil) }
    if last == position { return RecordTail(last: last) }
    if let position, last.journal == position.journal, last.number > position.number,
      let count = Int(exactly: last.number - position.number), count < 1 << 20
    {
      let entries = try entries(from: -count)
      if entries.first?.position == position.next { return RecordTail(last: entries.last?.position, entries: entries) }
    }
    let entries = try entries(from: 0)
    return RecordTail(last: entries.last?.position, entries: entries)
  }

  private func entries(from start: Int) throws -> [RecordEntry] {
    let reply = try redis.sendAndWait(["LRANGE".bytes, name, "\(start)".bytes, "-1".bytes])
    guard case .list(let found) = reply else { throw RedisError.unexpectedReply }
    return try found.map { element in
      guard case .bytes(let bytes) = element, let entry = RecordEntry(bytes) else { throw RedisError.unexpectedReply }
      return entry
    }
  }

  /// Pushes an entry, in one step with the comparison.
  public func append(_ entry: RecordEntry, after position: RecordPosition) throws -> Bool {
    try add(entry, after: position, replaces: false)
  }

  /// Pushes an entry, and trims the list to it, in one step with the comparison.
  public func replaceAll(with entry: RecordEntry, after position: RecordPosition?) throws -> Bool {
    try add(entry, after: position, replaces: true)
  }

  private func add(_ entry: RecordEntry, after position: RecordPosition?, replaces: Bool) throws -> Bool {
    let milliseconds = "\(Int(lifetime / .milliseconds(1)))"
    let reply = try redis.sendAndWait(
      ["EVAL".bytes, Script.addEntry.text.bytes, "1".bytes, name]
        + [position?.bytes ?? [], entry.position.bytes + entry.bytes, (replaces ? "1" : "0").bytes, milliseconds.bytes])
    guard case .number(let isDone) = reply else { throw RedisError.unexpectedReply }
    return isDone == 1
  }

  /// Deletes the list.
  public func removeAll() throws { _ = try redis.sendAndWait(["DEL".bytes, name]) }

  /// Deletes the list, and what is known of a refusal.
  public func signOut() throws { _ = try redis.sendAndWait(["DEL".bytes, name, refusalName]) }

  /// Whether the server has refused the account in any process; also if that cannot be read: then nothing is shown before a
  /// request succeeds.
  public var isRefused: Bool {
    guard case .number(0)? = try? redis.sendAndWait(["EXISTS".bytes, refusalName]) else { return true }
    return false
  }

  /// Sets or deletes a key of its own.
  public func setRefused(_ isRefused: Bool) throws {
    _ = try redis.sendAndWait(isRefused ? ["SET".bytes, refusalName, "1".bytes] : ["DEL".bytes, refusalName])
  }

  /// What other processes have written, on the thread on which Redis reports it; and whenever Redis was away.
  public var changes: Observable<Void> {
    redis.invalidations.asObservable().compactMap { [name] invalidation in
      switch invalidation {
      case .key(let key): key == name ? () : nil
      case .all: ()
      }
    }
  }
}

extension RecordPosition {
  /// Sixteen bytes, the most significant first.
  fileprivate var bytes: [UInt8] {
    [journal, number].flatMap { number in withUnsafeBytes(of: number.bigEndian) { Array($0) } }
  }
}

extension RecordEntry {
  /// An entry as it is in the list.
  fileprivate init?(_ bytes: [UInt8]) {
    guard bytes.count >= 16 else { return nil }
    func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    let position = RecordPosition(journal: number(bytes[..<8]), number: number(bytes[8..<16]))
    self.init(position, Array(bytes[16...]))
  }
}
