import Dispatch
import Repository

extension StoreConformance {
  static let concurrencyChecks: [(name: String, run: Check)] = [
    (
      "readers see the old value or the new one while another thread writes",
      { _, subject, failures in
        let values = (0..<4).map { String(repeating: "\($0)", count: 1_000 + $0) }
        try subject.write(stored(values[0]), for: "k")
        let found = Findings()
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
          for round in 0..<50 {
            do {
              if thread == 0 {
                try subject.write(stored(values[round % 4]), for: "k")
              } else if let value = try subject.read("k")?.value {
                if !values.contains(value) { found.add("a reader got \(value.count) characters that nobody wrote") }
              } else {
                found.add("a reader got nothing")
              }
            } catch {
              found.add("an error: \(error)")
            }
          }
        }
        for line in found.lines { failures.expect(false, line) }
        failures.expect(try subject.read("k") != nil, "the value is gone")
      }
    ),
    (
      "two that have the same place open both write",
      { conformance, first, failures in
        let second = try conformance.reopened()
        let found = Findings()
        DispatchQueue.concurrentPerform(iterations: 2) { index in
          let subject = index == 0 ? first : second
          for round in 0..<25 {
            do {
              try subject.write(stored("\(round)"), for: "\(index)-\(round)")
            } catch {
              found.add("an error: \(error)")
            }
          }
        }
        for line in found.lines { failures.expect(false, line) }
        let keys = Set(try conformance.reopened().keys())
        failures.expect(keys.count, is: 50, "the number of keys, opened anew")
      }
    ),
  ]
}
