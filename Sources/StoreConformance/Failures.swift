import Repository

/// What a check has found.
struct Failures {
  let check: String
  private(set) var lines: [String] = []

  init(check: String) { self.check = check }

  mutating func expect(_ condition: Bool, _ expectation: @autoclosure () -> String) {
    if !condition { lines.append("\(check): \(expectation())") }
  }

  mutating func expect<Found: Equatable>(_ found: Found, is wanted: Found, _ what: @autoclosure () -> String) {
    let (shown, expected) = (String(reflecting: found).prefix(200), String(reflecting: wanted).prefix(200))
    expect(found == wanted, "\(what()) is \(shown), not \(expected)")
  }
}

/// A value written at a time that a clock could show.
func stored(_ value: String, at seconds: Int64 = 1_700_000_000, isInvalidated: Bool = false) -> StoredValue<String> {
  StoredValue(value, writtenAt: StoreTime(microseconds: seconds * 1_000_000 + 7), isInvalidated: isInvalidated)
}
