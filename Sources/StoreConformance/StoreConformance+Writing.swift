import Repository

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
