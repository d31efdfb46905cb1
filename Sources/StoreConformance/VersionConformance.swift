import Stores

/// Of two changes of a key, the one of the greater version stays, in whichever order they arrive.
extension StoreConformance {
  static let versionChecks: [AsyncCase] = [
    AsyncCase(
      "a write that comes late does not replace one of a greater version",
      { one, other, failures in
        let (early, late) = (later(), later())
        await failures.expect(.done) { try await one.write(stored("new", late), for: "k", isResponse: false) }
        await failures.expect(.superseded(by: late)) {
          try await other.write(stored("old", early), for: "k", isResponse: false)
        }
        // A response may be refused by other means than its version, and then that of the value need not be known.
        let result = try await other.write(stored("old", early), for: "k", isResponse: true)
        let isRefused = [.superseded(by: late), .superseded(by: .zero)].contains(result)
        failures.expect(isRefused, "the result of a response that comes late is \(result)")
        failures.expect(try await one.read("k"), is: stored("new", late), "the value")
        await failures.expect(.done) { try await other.write(stored("new", late), for: "k", isResponse: false) }
        await failures.expect(.done) {
          let newest = stored("newest", EntryVersion(time: late.time, writer: .max))
          return try await other.write(newest, for: "k", isResponse: false)
        }
        failures.expect(try await one.read("k")?.value, is: "newest", "the value of a greater writer")
      }
    ),
    AsyncCase(
      "a removal that comes late does not remove a value of a greater version",
      { one, other, failures in
        let (early, late) = (later(), later())
        await failures.expect(.done) { try await one.write(stored("new", late), for: "k", isResponse: false) }
        await failures.expect(.superseded(by: late)) { try await other.remove("k", version: early) }
        failures.expect(try await one.read("k"), is: stored("new", late), "the value")
      }
    ),
    AsyncCase(
      "a write that comes late does not bring back what was removed",
      { one, other, failures in
        let (first, second, third) = (later(), later(), later())
        await failures.expect(.done) { try await one.write(stored("old", first), for: "k", isResponse: false) }
        await failures.expect(.done) { try await other.remove("k", version: third) }
        await failures.expect(.done) { try await other.remove("without a value", version: third) }
        for key in ["k", "without a value"] {
          await failures.expect(.superseded(by: third)) {
            try await one.write(stored("late", second), for: key, isResponse: false)
          }
          failures.expect(try await other.read(key), is: nil, "the removed value")
        }
        failures.expect(try await other.keys(), is: [], "the keys")
        let fourth = later()
        await failures.expect(.done) { try await one.write(stored("new", fourth), for: "k", isResponse: false) }
        failures.expect(try await other.read("k"), is: stored("new", fourth), "the value after the next write")
        failures.expect(try await other.keys(), is: ["k"], "the keys after the next write")
      }
    ),
    AsyncCase(
      "an invalidation that comes late does not mark a value of a greater version",
      { one, other, failures in
        let (early, late) = (later(), later())
        await failures.expect(.done) { try await one.write(stored("new", late), for: "k", isResponse: false) }
        await failures.expect(.superseded(by: late)) { try await other.invalidate("k", version: early) }
        failures.expect(try await one.read("k"), is: stored("new", late), "the value")
      }
    ),
    AsyncCase(
      "a write that comes late is kept as out of date after an invalidation",
      { one, other, failures in
        let (first, second, third) = (later(), later(), later())
        await failures.expect(.done) { try await one.write(stored("old", first), for: "k", isResponse: false) }
        await failures.expect(.done) { try await other.invalidate("k", version: third) }
        await failures.expect(.done) { try await one.write(stored("late", second), for: "k", isResponse: false) }
        failures.expect(try await other.read("k"), is: stored("late", isInvalidated: true, second), "the late value")
      }
    ),
    AsyncCase(
      "everything is removed, whatever its version is, and does not come back by a write that comes late",
      { one, other, failures in
        let (early, removal) = (later(), later())
        let ahead = EntryVersion(time: removal.time + 3_600_000_000, writer: 3)
        await failures.expect(.done) { try await one.write(stored("v", ahead), for: "ahead", isResponse: false) }
        try await other.removeAll(version: removal)
        failures.expect(try await one.read("ahead"), is: nil, "a value")
        await failures.expect(.superseded(by: removal)) {
          try await one.write(stored("late", early), for: "k", isResponse: false)
        }
        failures.expect(try await one.keys(), is: [], "the keys")
        let next = later()
        await failures.expect(.done) { try await one.write(stored("new", next), for: "k", isResponse: false) }
        failures.expect(try await other.read("k"), is: stored("new", next), "a value written afterwards")
      }
    ),
    AsyncCase(
      "of changes by many at once, the greatest version stays",
      { one, other, failures in
        for round in 0..<10 {
          let versions = (0..<8).map { _ in later() }
          try await withThrowingTaskGroup { group in
            for (place, version) in versions.shuffled().enumerated() {
              let subject = place % 2 == 0 ? one : other
              let isRemoval = version == versions.last && round % 2 == 0
              group.addTask {
                _ =
                  isRemoval
                  ? try await subject.remove("k", version: version)
                  : try await subject.write(stored("\(version.time)", version), for: "k", isResponse: false)
              }
            }
            try await group.waitForAll()
          }
          let wanted = round % 2 == 0 ? nil : versions.last
          for subject in [one, other] {
            failures.expect(try await subject.read("k")?.version, is: wanted, "the version in round \(round)")
          }
        }
      }
    ),
  ]
}

extension Failures {
  /// Makes a change, and checks its result; an error that it throws is a failure.
  func expect(_ wanted: SourceWriteResult, of change: () async throws -> SourceWriteResult) async {
    do { expect(try await change(), is: wanted, "the result of a change") } catch { add("an error: \(error)") }
  }
}
