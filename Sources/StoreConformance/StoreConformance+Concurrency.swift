import Repository

extension StoreConformance {
  static let concurrencyChecks: [Case] = [
    Case(
      "readers see the old value or the new one while another thread writes",
      { _, subject, failures in
        let values = (0..<4).map { String(repeating: "\($0)", count: 1_000 + $0) }
        try subject.write(stored(values[0]), for: "k")
        onThreads(4, rounds: 50) { thread, round in
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
        onThreads(2, rounds: 25) { thread, round in
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
        onThreads(4, rounds: 25) { thread, round in
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
