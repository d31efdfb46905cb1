/// What a disk cache refuses.
public enum DiskCacheError: Error, Hashable, Sendable {
  /// A record is larger than all records together may be, both in bytes; nothing of it was stored.
  case tooLarge(size: Int, limit: Int)
}
