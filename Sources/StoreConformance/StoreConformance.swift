public import Stores

/// What every ``SourceOfTruth`` must do, as test cases, for the authors of such types. Keys and values are strings.
///
///     @Test(arguments: StoreConformance.cases)
///     func `it conforms`(_ test: StoreConformance.Case) throws {
///       try test.check { try MyDatabase(path, partition: $0) }
///     }
///
/// Cases that run at the same time need stores of their own.
public enum StoreConformance {
  /// A source of truth under test.
  public typealias Subject = any SourceOfTruth<String, String>

  /// One thing that a source of truth must do.
  public struct Case: Sendable, CustomStringConvertible {
    /// Opens a partition of the store, as a new process does.
    typealias Opening = @Sendable (_ partition: String) throws -> Subject

    /// What it must do, as a sentence.
    public let description: String

    private let body: @Sendable (Opening, Subject, Failures) throws -> Void

    init(_ description: String, _ body: @escaping @Sendable (Opening, Subject, Failures) throws -> Void) {
      self.description = description
      self.body = body
    }

    /// Throws a ``Violation``, or an error of the source of truth, unless that does what it must.
    /// - Parameter open: Opens a partition of the same store. It is called many times, and must find what was written
    ///   before. The contents of the partitions are deleted.
    public func check(opening open: @escaping @Sendable (_ partition: String) throws -> Subject) throws {
      let subject = try open("a")
      try subject.removeAll()
      try open("b").removeAll()
      let failures = Failures()
      try body(open, subject, failures)
      if !failures.lines.isEmpty { throw Violation(description: failures.lines.joined(separator: "\n")) }
    }
  }

  /// What a source of truth did in the place of what it must do.
  public struct Violation: Error, Hashable, CustomStringConvertible {
    /// What was found, and what should have been, in a line for each.
    public let description: String
  }

  /// All cases.
  public static let cases: [Case] = writingChecks + keyChecks + partitionChecks + concurrencyChecks
}

extension StoreConformance {
  static let writingChecks: [Case] = [
    Case(
      "a key without a value is a miss",
      { _, subject, failures in
        failures.expect(try subject.read("k"), is: nil, "an unknown key")
        failures.expect(try subject.keys(), is: [], "the keys of an empty source")
        try subject.remove("k")
      }
    ),
    Case(
      "a written value is read back, with its time and mark",
      { _, subject, failures in
        for value in [stored("v"), stored("", at: 0), stored("marked", at: -5, isInvalidated: true)] {
          try subject.write(value, for: "k")
          failures.expect(try subject.read("k"), is: value, "what was written")
        }
      }
    ),
    Case(
      "a value is kept with its version",
      { open, subject, failures in
        for version in [later(), EntryVersion(time: 1 << 57, writer: .max), EntryVersion(time: 1 << 58, writer: 1)] {
          try subject.write(stored("v", version), for: "k")
          for subject in [subject, try open("a")] {
            failures.expect(try subject.read("k"), is: stored("v", version), "what was written")
          }
        }
      }
    ),
    Case(
      "a write replaces the value before it",
      { open, subject, failures in
        for index in 0..<20 { try subject.write(stored("\(index)"), for: "k") }
        failures.expect(try subject.read("k"), is: stored("19"), "the value")
        failures.expect(try subject.keys(), is: ["k"], "the keys")
        failures.expect(try open("a").read("k"), is: stored("19"), "the value after reopening")
      }
    ),
    Case(
      "a written value is there after reopening",
      { open, subject, failures in
        try subject.write(stored("v", isInvalidated: true), for: "k")
        let next = try open("a")
        failures.expect(try next.read("k"), is: stored("v", isInvalidated: true), "the value")
        failures.expect(try next.keys(), is: ["k"], "the keys")
      }
    ),
    Case(
      "a removed value is gone, also after reopening",
      { open, subject, failures in
        try subject.write(stored("1"), for: "k")
        try subject.write(stored("2"), for: "other")
        try subject.remove("k")
        for subject in [subject, try open("a")] {
          failures.expect(try subject.read("k"), is: nil, "the removed value")
          failures.expect(try subject.read("other"), is: stored("2"), "the other value")
          failures.expect(try subject.keys(), is: ["other"], "the keys")
        }
      }
    ),
    Case(
      "after removing all, nothing is left",
      { open, subject, failures in
        for index in 0..<50 { try subject.write(stored("\(index)"), for: "\(index)") }
        try subject.removeAll()
        for subject in [subject, try open("a")] {
          failures.expect(try subject.keys(), is: [], "the keys")
          failures.expect(try subject.read("7"), is: nil, "a value")
        }
        try subject.write(stored("again"), for: "7")
        failures.expect(try subject.read("7"), is: stored("again"), "a value written afterwards")
      }
    ),
    Case(
      "any text is a value, and a large one too",
      { open, subject, failures in
        let large = String(repeating: "0123456789abcdef", count: 32_768)
        let values = ["\0", "\u{FEFF}王小明 🌅 \u{2028}\"\\\n", "\u{E9}", "e\u{301}", large]
        for (index, value) in values.enumerated() { try subject.write(stored(value), for: "\(index)") }
        for subject in [subject, try open("a")] {
          for (index, value) in values.enumerated() {
            let found = try subject.read("\(index)").map { Array($0.value.utf8) }
            failures.expect(found == Array(value.utf8), "value \(index) differs from what was written")
          }
        }
      }
    ),
  ]
}

extension StoreConformance {
  /// Keys that a careless source of truth confuses, or takes for paths or parts of a query.
  static let hostileKeys =
    [
      "", " ", "k", "K", "k ", " k", ".", "..", "../k", "../../../../etc/passwd", "/k", "a/b", "a\\b", "\0", "k\0",
      "k\0k",
      "*", "%", "_", "'; DROP TABLE records; --", "\"", "\n", "\r\n", "\u{E9}", "o\u{308}", "王", "🌅", "\u{202E}k",
      "null", "0", "-1", "1e3", "true", "lock", "temporary-1", ".r1",
    ] + [300, 301, 5_000].map { String(repeating: "k", count: $0) }

  static let keyChecks: [Case] = [
    Case(
      "every key has a value of its own",
      { open, subject, failures in
        for key in hostileKeys { try subject.write(stored("value of \(key)"), for: key) }
        for subject in [subject, try open("a")] {
          for key in hostileKeys {
            failures.expect(
              try subject.read(key), is: stored("value of \(key)"), "the value of \(key.prefix(40).debugDescription)")
          }
          let keys = try subject.keys().map { Array($0.utf8) }
          failures.expect(
            Set(keys) == Set(hostileKeys.map { Array($0.utf8) }), "the keys are not those that were written")
          failures.expect(keys.count == Set(keys).count, "a key is listed twice")
        }
        for key in hostileKeys { try subject.remove(key) }
        failures.expect(try subject.keys(), is: [], "the keys after removing all")
      }
    )
  ]

  static let partitionChecks: [Case] = [
    Case(
      "partitions have nothing in common",
      { open, first, failures in
        let second = try open("b")
        try first.write(stored("first"), for: "k")
        failures.expect(try second.read("k"), is: nil, "the key in the other partition")
        failures.expect(try second.keys(), is: [], "the keys of the other partition")
        try second.write(stored("second"), for: "k")
        failures.expect(try first.read("k"), is: stored("first"), "the value of the first")
        try first.removeAll()
        failures.expect(try second.read("k"), is: stored("second"), "the second's value after emptying the first")
        failures.expect(try open("b").read("k"), is: stored("second"), "the second, reopened")
      }
    ),
    Case(
      "a partition and a key are not read as another partition and another key",
      { open, _, failures in
        let names = ["a", "ab", "a\0b", "a/b", ""]
        for name in names { try open(name).removeAll() }
        try open("a").write(stored("v"), for: "bc")
        for name in names.dropFirst() {
          for key in ["c", "bc", "\0bc", ""] {
            failures.expect(
              try open(name).read(key), is: nil,
              "\(key.debugDescription) in \(name.debugDescription)")
          }
        }
        for name in names { try open(name).removeAll() }
      }
    ),
  ]
}

extension StoreConformance {
  static let concurrencyChecks: [Case] = [
    Case(
      "readers see the old value or the new one while another thread writes",
      { _, subject, failures in
        let values = (0..<4).map { String(repeating: "\($0)", count: 1_000 + $0) }
        try subject.write(stored(values[0]), for: "k")
        try onThreads(4, rounds: 50) { thread, round in
          failures.note {
            if thread == 0 {
              try subject.write(stored(values[round % 4]), for: "k")
            } else if let value = try subject.read("k")?.value {
              if !values.contains(value) {
                failures.add("a reader got \(value.count) characters that were never written")
              }
            } else {
              failures.add("a reader got nothing")
            }
          }
        }
        failures.expect(try subject.read("k") != nil, "the value is gone")
      }
    ),
    Case(
      "two instances of the same partition can both write",
      { open, first, failures in
        let second = try open("a")
        try onThreads(2, rounds: 25) { thread, round in
          let subject = thread == 0 ? first : second
          failures.note { try subject.write(stored("\(round)"), for: "\(thread)-\(round % 25)") }
        }
        let keys = try open("a").keys()
        failures.expect(keys.count, is: 50, "the number of keys after reopening")
        failures.expect(Set(keys).count, is: 50, "the number of different keys after reopening")
      }
    ),
    Case(
      "keys are listed, and everything is removed, while other threads write",
      { open, subject, failures in
        let keys = (0..<8).map { "\($0)" }
        try onThreads(4, rounds: 25) { thread, round in
          failures.note {
            switch thread {
            case 0:
              let listed = try subject.keys()
              if Set(listed).count < listed.count { failures.add("a key is listed twice") }
              if !Set(listed).isSubset(of: keys) { failures.add("a key is listed that was never written") }
            case 1: if round % 5 == 0 { try subject.removeAll() }
            default:
              let key = keys[round % 8]
              try subject.write(stored("value of \(key)"), for: key)
              let value = try subject.read(key)
              if let value, value != stored("value of \(key)") {
                failures.add("a value is incomplete, or another key's")
              }
            }
          }
        }
        try subject.removeAll()
        for subject in [subject, try open("a")] {
          failures.expect(try subject.keys(), is: [], "the keys after removing all")
          failures.expect(try subject.read("7"), is: nil, "a value after removing all")
        }
      }
    ),
  ]
}
