import Repository

/// One step of a fixed sequence of writes and removals, so that a test knows what must be there after each.
package struct Operation: Sendable {
  /// The keys that the operations go round.
  package static let keys = (0..<5).map { "key \($0)" }

  private let number: Int

  /// The operation of this number, from 0 on.
  package init(_ number: Int) {
    self.number = number
  }

  /// The key it concerns.
  package var key: String { Self.keys[number % Self.keys.count] }

  /// What the key's value is after it; `nil` where it removes the value.
  package var value: String? {
    number % 7 == 3 ? nil : "\(number) " + String(repeating: "x", count: number * 7_919 % 20_000)
  }

  func perform(on cache: DiskCache<String, String>) throws {
    if let value {
      try cache.write(StoredValue(value, writtenAt: .now()), for: key)
    } else {
      try cache.remove(key)
    }
  }
}
