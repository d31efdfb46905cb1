public import Foundation

/// Why a disk cache refuses a value. Cases may be added.
@nonexhaustive
public enum DiskCacheError: Error, Hashable, Sendable {
  /// A record is larger than the limit for all records together, both in bytes; it was not stored.
  case tooLarge(size: Int, limit: Int)
}

extension DiskCacheError: CustomStringConvertible {
  /// One line for people.
  public var description: String {
    switch self {
    case .tooLarge(let size, let limit):
      "A record of \(size) bytes is larger than the limit of \(limit) bytes for all records."
    }
  }
}

extension DiskCacheError: LocalizedError {
  /// The same as `description`: what `localizedDescription` gives.
  public var errorDescription: String? { description }
}
