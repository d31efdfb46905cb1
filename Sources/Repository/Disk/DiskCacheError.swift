/// What a disk cache refuses.
public enum DiskCacheError: Error, Hashable, Sendable {
  /// A record is larger than all records together may be, both in bytes; nothing of it was stored.
  case tooLarge(size: Int, limit: Int)
}

extension DiskCacheError: CustomStringConvertible {
  /// One line for people.
  public var description: String {
    switch self {
    case .tooLarge(let size, let limit):
      "A record of \(size) bytes is larger than all records together may be, which is \(limit) bytes."
    }
  }
}
