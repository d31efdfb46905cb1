import Repository

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
