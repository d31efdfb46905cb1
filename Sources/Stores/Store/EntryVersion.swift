import Streams
import SystemBase

/// Says which of two states of a key is the later one, in whichever processes they were made; a source of truth keeps it
/// with the value, or with what is left of one that was removed.
///
/// It is a hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014): greater than every version that its
/// writer has seen, close to the time of day otherwise, and never that of another writer. So it says nothing about the
/// age of a value, for which there is ``StoredValue/writtenAt``.
public struct EntryVersion: Hashable, Comparable, Sendable, Codable {
  /// At least the microseconds since 1970 by the writer's clock.
  public var time: Int64

  /// Identifies the store that has made it.
  public var writer: UInt64

  /// Makes a version from its parts, as a source of truth has kept them.
  public init(time: Int64, writer: UInt64) {
    self.time = time
    self.writer = writer
  }

  /// The version of what was written without one: smaller than all that stores make.
  public static let zero = EntryVersion(time: 0, writer: 0)

  /// By time, and that of two writers at one time by the writers' numbers.
  @inlinable public static func < (left: Self, right: Self) -> Bool {
    left.time == right.time ? left.writer < right.writer : left.time < right.time
  }
}

/// Makes the versions of one store.
struct VersionClock: Sendable {
  private var latest: Int64 = 0
  private let writer: UInt64

  init(writer: UInt64 = .random(in: 1...(.max))) { self.writer = writer }

  /// What is later than the year 9999 comes from no clock: it would leave no room for what is written after it.
  private static var limit: Int64 { 253_402_300_800_000_000 }

  /// A version of a writer that is greater than another one; of what no store can have made, than zero.
  static func version(after other: EntryVersion, writer: UInt64) -> EntryVersion {
    var clock = VersionClock(writer: writer)
    _ = clock.see(other)
    return clock.next()
  }

  /// A version that is greater than all before, and than all that were seen.
  mutating func next() -> EntryVersion {
    latest = max(latest + 1, StoreTime.now().microseconds)
    return EntryVersion(time: latest, writer: writer)
  }

  /// At least as great as all before, and as all that were seen.
  var last: EntryVersion { EntryVersion(time: latest, writer: writer) }

  /// Takes notice of another store's version; returns it, or zero if no store can have made it.
  mutating func see(_ version: EntryVersion) -> EntryVersion {
    guard version.time >= 0, version.time < Self.limit else { return .zero }
    latest = max(latest, version.time)
    return version
  }
}
