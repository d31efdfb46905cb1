import Foundation
import Repository

/// Random operations on a folder that other processes use too.
struct SharedFolder {
  /// The limit of the folder, in bytes.
  static let limit = 200_000

  private let cache: DiskCache<String, String>
  private var random: UInt64

  init(_ folder: String, seed: UInt64) throws {
    cache = try DiskCache(folder: URL(fileURLWithPath: folder), limit: Self.limit)
    random = seed
  }

  /// Ends with an error where a value is not one that somebody wrote for its key.
  mutating func use(for seconds: Double) throws {
    let end = Date(timeIntervalSinceNow: seconds)
    while Date() < end {
      let key = "key \(next(below: 40))"
      switch next(below: 100) {
      case 0: try cache.removeAll()
      case 1..<5: try cache.remove(key)
      case 5..<7: _ = try cache.keys()
      case 7..<60: try check(cache.read(key)?.value, of: key)
      default: try cache.write(StoredValue(value(of: key), writtenAt: .now()), for: key)
      }
    }
  }

  /// A value of random length that tells its key and its length.
  private mutating func value(of key: String) -> String {
    let text = "\(key):\(next(below: 10_000)):"
    return text + String(repeating: "x", count: Int(text.split(separator: ":")[1]) ?? 0)
  }

  private func check(_ value: String?, of key: String) throws {
    guard let value else { return }
    let parts = value.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == key, Int(parts[1]) == parts[2].utf8.count else {
      print("\(key) has the value \(value.prefix(80)) of \(value.utf8.count) bytes")
      exit(1)
    }
  }

  /// A linear congruential generator is random enough here.
  private mutating func next(below bound: UInt64) -> UInt64 {
    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (random >> 33) % bound
  }
}
