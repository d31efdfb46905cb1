/// The name of an entry's file: when it was added, as 20 digits of microseconds, then its id and the format's version.
///
///     00001605521360000000-6F9619FF-8B86-4D01-B42D-00CF4FC964FF.e1
///
/// So names sort as entries do, and none is ever used again. Files of other versions are left alone: they may be a
/// newer program's entries.
struct OutboxFileName: Hashable, Comparable, CustomStringConvertible {
  private static let suffix = ".e1"
  private static let discardedSuffix = ".discarded"
  /// Beyond it are no times of entries: each has one of its own, after those before.
  private static let latest = Int64.max / 2

  let addedAt: StoreTime
  let description: String

  init(addedAt: StoreTime, id: String) {
    self.addedAt = addedAt
    let digits = String(addedAt.microseconds)
    description = String(repeating: "0", count: max(0, 20 - digits.count)) + digits + "-" + id + Self.suffix
  }

  /// Parses a file's name; `nil` if it is not of this format.
  init?(_ name: String) {
    guard name.hasSuffix(Self.suffix), name.dropFirst(20).first == "-", let time = Int64(name.prefix(20)),
      time <= Self.latest
    else { return nil }
    self.init(addedAt: StoreTime(microseconds: time), id: String(name.dropFirst(21).dropLast(Self.suffix.count)))
    // A number may have a sign, and digits of another length.
    guard description == name else { return nil }
  }

  /// Parses a name made by ``discarded``; `nil` if it is none.
  init?(discarded name: String) {
    guard name.hasSuffix(Self.discardedSuffix) else { return nil }
    self.init(name.dropLast(Self.discardedSuffix.count) + Self.suffix)
  }

  /// The entry's id.
  var id: String { String(description.dropFirst(21).dropLast(Self.suffix.count)) }

  /// The name of the file that records that the entry was discarded.
  var discarded: String { description.dropLast(Self.suffix.count) + Self.discardedSuffix }

  static func < (left: OutboxFileName, right: OutboxFileName) -> Bool { left.description < right.description }
}
