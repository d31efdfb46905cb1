public import Stores
public import Streams
import Synchronization

/// One partition of a normalised cache that all processes share, in Redis: what one of them writes, removes or invalidates
/// shows in the watchers of all.
///
///     let redis = Redis(RedisServer(host: "cache"))  // one for a process
///     let store = NormalizedStore(client, schema: schema, storage: RedisRecords(redis, partition: account))
///
/// The records are a list: the entries of a journal, each of which begins with its position and a random tag: a Redis that
/// is started again may have lost the last ones, and others may come in their place. A process has one store of
/// a partition: Redis reports to it what others have written. Calls wait on their thread, at most for
/// ``Redis/timeLimit``; `load()` of the store makes the first read on a thread of its own.
public final class RedisRecords: RecordStorage {
  /// How long the records are kept after the last write. When they expire, all processes forget them.
  public let lifetime: Duration

  private let redis: Redis
  private let name: [UInt8]
  private let refusalName: [UInt8]
  /// What the last entry begins with that was read or written here.
  private let seen = Mutex<Head?>(nil)

  /// Makes a partition; does not wait for Redis.
  public init(_ redis: Redis, partition: String = "", lifetime: Duration = .seconds(7 * 86_400)) {
    (self.redis, self.lifetime) = (redis, lifetime)
    // Under the prefix of values, whose changes Redis reports. No partition of a `RedisStore` begins like this.
    name = "\(redis.prefix)v:records:\(partition)".bytes
    refusalName = "\(redis.prefix)f:records:\(partition)".bytes
  }

  /// The entries after a position, in one step; all, if it is not there.
  public func read(after position: RecordPosition?) throws -> RecordTail {
    let reply = try redis.sendAndWait(
      ["EVAL".bytes, Script.readEntries.text.bytes, "1".bytes, name, position.map(head) ?? []])
    guard case .list(let found) = reply else { throw RedisError.unexpectedReply }
    // The first is what the last entry begins with.
    let heads = try found.map { element in
      guard case .bytes(let bytes) = element, let head = Head(bytes) else { throw RedisError.unexpectedReply }
      return (head, bytes)
    }
    let entries = heads.dropFirst().map { RecordEntry($0.position, Array($1[Head.count...])) }
    let last = heads.first?.0
    seen.withLock { $0 = last }
    return RecordTail(last: last?.position, entries: entries)
  }

  /// What an entry at a position begins with: also the tag, if it was seen here.
  private func head(_ position: RecordPosition) -> [UInt8] {
    seen.withLock { $0?.position == position ? $0?.bytes : nil } ?? position.bytes
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
    let new = Head(position: entry.position, tag: .random(in: .min ... .max))
    let reply = try redis.sendAndWait(
      ["EVAL".bytes, Script.addEntry.text.bytes, "2".bytes, name, refusalName]
        + [position.map(head) ?? [], new.bytes + entry.bytes, (replaces ? "1" : "0").bytes, milliseconds])
    guard case .number(let isDone) = reply else { throw RedisError.unexpectedReply }
    if isDone == 1 { seen.withLock { $0 = new } }
    return isDone == 1
  }

  /// Deletes the list.
  public func removeAll() throws { _ = try redis.sendAndWait(["DEL".bytes, name]) }

  /// Deletes the list, and what is known of a refusal, and pushes one entry, in one step. If Redis has no memory for it, the
  /// rest is deleted, and this throws.
  public func signOut(leaving mark: RecordEntry) throws {
    let head = Head(position: mark.position, tag: .random(in: .min ... .max))
    _ = try redis.sendAndWait(
      ["EVAL".bytes, Script.signOut.text.bytes, "2".bytes, name, refusalName, head.bytes + mark.bytes, milliseconds])
  }

  /// Whether the server has refused the account in any process; also if that cannot be read: then nothing is shown before a
  /// request succeeds.
  public var isRefused: Bool {
    guard case .number(0)? = try? redis.sendAndWait(["EXISTS".bytes, refusalName]) else { return true }
    return false
  }

  private var milliseconds: [UInt8] { "\(Int(lifetime / .milliseconds(1)))".bytes }

  /// Sets or deletes a key of its own, which is kept as long as the records are; also in a Redis without memory.
  public func setRefused(_ isRefused: Bool) throws {
    _ = try redis.sendAndWait(
      isRefused
        ? ["EVAL".bytes, Script.mark.text.bytes, "1".bytes, refusalName, milliseconds] : ["DEL".bytes, refusalName])
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

/// What an entry begins with in the list.
private struct Head: Hashable {
  static let count = 24

  let position: RecordPosition
  let tag: UInt64

  init(position: RecordPosition, tag: UInt64) { (self.position, self.tag) = (position, tag) }

  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.count else { return nil }
    func number(_ place: Int) -> UInt64 { bytes[place..<(place + 8)].reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(position: RecordPosition(journal: number(0), number: number(8)), tag: number(16))
  }

  var bytes: [UInt8] { position.bytes + tag.bytes }
}

extension RecordPosition {
  fileprivate var bytes: [UInt8] { journal.bytes + number.bytes }
}

extension UInt64 {
  /// The most significant first.
  fileprivate var bytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
