import Dispatch
public import Stores
import Streams
import SystemBase

/// What every ``RecordStorage`` must do, as test cases, for the authors of such types.
///
///     @Test(arguments: RecordStorageConformance.cases)
///     func `it conforms`(_ test: RecordStorageConformance.Case) throws {
///       try test.check { try MyRecords(path, partition: $0) }
///     }
///
/// One that processes share must pass ``sharingCases``, too. Cases that run at the same time need storages of their own.
public enum RecordStorageConformance {
  /// One thing that a storage of records must do.
  public struct Case: Sendable, CustomStringConvertible {
    /// Opens a partition, as another process does.
    typealias Opening = @Sendable (_ partition: String) throws -> any RecordStorage

    /// What it must do, as a sentence.
    public let description: String

    private let body: @Sendable (Opening, any RecordStorage, Failures) throws -> Void

    init(
      _ description: String, _ body: @escaping @Sendable (Opening, any RecordStorage, Failures) throws -> Void
    ) {
      (self.description, self.body) = (description, body)
    }

    /// Throws a ``StoreConformance/Violation``, or an error of the storage, unless that does what it must.
    /// - Parameter open: Opens a partition of the same storage. It is called many times, and must find what was written
    ///   before, while the ones that were opened before are still open. The contents of the partitions are deleted.
    public func check(opening open: @escaping @Sendable (_ partition: String) throws -> any RecordStorage) throws {
      let subject = try open("a")
      try subject.removeAll()
      try open("b").removeAll()
      let failures = Failures()
      try body(open, subject, failures)
      if !failures.lines.isEmpty {
        throw StoreConformance.Violation(description: failures.lines.joined(separator: "\n"))
      }
    }
  }

  /// What all must do.
  public static let cases: [Case] = readingChecks + orderChecks

  /// What those must do that processes share.
  public static let sharingCases: [Case] = [
    Case(
      "a sign-out leaves its mark to others, whatever was there",
      { open, subject, failures in
        let other = try open("a")
        for count in [0, 3] {
          var places = Places()
          for _ in 0..<count { try subject.add(&places, in: failures) }
          let mark = RecordEntry(RecordPosition(journal: places.journal &+ 1, number: 0), [7])
          try open("a").signOut(leaving: mark)
          for position in [nil, places.last] {
            failures.expect(
              try other.read(after: position), is: RecordTail(last: mark.position, entries: [mark]), "the journal")
          }
          let next = RecordEntry(mark.position.next, [8])
          failures.expect(try other.append(next, after: mark.position), "nothing could be added after the mark")
          try subject.removeAll()
        }
      }
    ),
    Case(
      "what others add, replace and remove is announced",
      { open, subject, failures in
        let changes = DispatchSemaphore(value: 0)
        let subscription = subject.changes.subscribe(onNext: { changes.signal() })
        defer { subscription.dispose() }
        func expectChange(_ what: String) {
          failures.expect(changes.wait(timeout: .now() + 10) == .success, "\(what) was not announced within 10 s")
        }
        // What comes when the subscription begins says nothing.
        while changes.wait(timeout: .now() + 0.3) == .success {}
        let other = try open("a")
        var places = Places()
        try other.add(&places, in: failures)
        expectChange("the first entry")
        try other.add(&places, in: failures)
        expectChange("another entry")
        try other.removeAll()
        expectChange("a removal")
      }
    ),
  ]
}

/// The positions of a journal's entries.
private struct Places {
  let journal = UInt64.random(in: .min ... .max)
  var last: RecordPosition?

  /// The next entry, which has its number as its bytes.
  func next(_ bytes: [UInt8]? = nil) -> RecordEntry {
    let place = last?.next ?? RecordPosition(journal: journal, number: 0)
    return RecordEntry(place, bytes ?? Array("entry \(place.number)".utf8))
  }
}

extension RecordStorage {
  /// Adds the next entry, which must succeed.
  @discardableResult
  fileprivate func add(
    _ places: inout Places, _ bytes: [UInt8]? = nil, replaces: Bool = false, in failures: Failures
  ) throws -> RecordEntry {
    let entry = places.next(bytes)
    let isDone =
      if let last = places.last, !replaces {
        try append(entry, after: last)
      } else {
        try replaceAll(with: entry, after: places.last)
      }
    failures.expect(isDone, "the entry \(entry.position.number) was refused, although it is the next one")
    places.last = entry.position
    return entry
  }
}

extension RecordStorageConformance {
  private static let readingChecks: [Case] = [
    Case(
      "a new journal is empty, and nothing can be added to it",
      { _, subject, failures in
        failures.expect(try subject.read(after: nil), is: RecordTail(last: nil), "a new journal")
        let place = RecordPosition(journal: 1, number: 1)
        failures.expect(try subject.read(after: place), is: RecordTail(last: nil), "what follows an unknown position")
        failures.expect(
          try !subject.append(RecordEntry(place.next, [1]), after: place), "an entry was added to an unknown one")
        failures.expect(
          try !subject.replaceAll(with: RecordEntry(place.next, [1]), after: place), "an unknown entry was replaced")
        failures.expect(try subject.read(after: nil), is: RecordTail(last: nil), "the journal after that")
      }
    ),
    Case(
      "entries are read in order, also after reopening, and those after a position alone",
      { open, subject, failures in
        var (places, entries) = (Places(), [RecordEntry]())
        for _ in 0..<30 { entries.append(try subject.add(&places, in: failures)) }
        for subject in [subject, try open("a")] {
          failures.expect(
            try subject.read(after: nil), is: RecordTail(last: places.last, entries: entries), "all entries")
          for (index, entry) in entries.enumerated() {
            let tail = RecordTail(last: places.last, entries: Array(entries[(index + 1)...]))
            failures.expect(try subject.read(after: entry.position), is: tail, "what follows the entry \(index)")
          }
        }
        let other = RecordPosition(journal: places.journal &+ 1, number: 29)
        failures.expect(try subject.read(after: other).entries, is: entries, "what follows that of another journal")
        let later = RecordPosition(journal: places.journal, number: 33)
        failures.expect(try subject.read(after: later).entries, is: entries, "what follows one that is not there yet")
      }
    ),
    Case(
      "any bytes are an entry, and many",
      { open, subject, failures in
        var places = Places()
        var entries = [try subject.add(&places, Array(0...255), in: failures)]
        entries.append(try subject.add(&places, [], in: failures))
        entries.append(
          try subject.add(&places, (0..<4 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) }, in: failures))
        for (index, entry) in entries.enumerated() {
          let found = try open("a").read(after: nil).entries
          failures.expect(found.count == 3 && found[index] == entry, "entry \(index) is not the one that was written")
        }
      }
    ),
    Case(
      "a position has all 64 bits of its numbers",
      { open, subject, failures in
        for (journal, number) in [(UInt64.max, UInt64(1) << 62), (0, 0), (1 << 63, 1 << 40)] as [(UInt64, UInt64)] {
          try subject.removeAll()
          let entry = RecordEntry(RecordPosition(journal: journal, number: number), [7])
          failures.expect(try subject.replaceAll(with: entry, after: nil), "the first entry was refused")
          let isAdded = try subject.append(RecordEntry(entry.position.next, [8]), after: entry.position)
          failures.expect(isAdded, "the second entry was refused")
          failures.expect(try open("a").read(after: nil).last, is: entry.position.next, "the last position")
        }
      }
    ),
  ]

  private static let orderChecks: [Case] = [
    Case(
      "an entry that is not the next one is refused, and changes nothing",
      { open, subject, failures in
        var places = Places()
        let first = try subject.add(&places, in: failures)
        let second = try subject.add(&places, in: failures)
        let other = try open("a")
        let late = RecordEntry(first.position.next, Array("late".utf8))
        failures.expect(
          try !other.append(late, after: first.position), "an entry was added after one that is not the last")
        failures.expect(
          try !other.replaceAll(with: late, after: first.position), "all was replaced after one that is not the last")
        failures.expect(try !other.replaceAll(with: late, after: nil), "all was replaced as if nothing was there")
        let tail = RecordTail(last: second.position, entries: [first, second])
        failures.expect(try subject.read(after: nil), is: tail, "the journal")
      }
    ),
    Case(
      "one entry replaces all: it is the next one for who has read them, and all there is for others",
      { open, subject, failures in
        var (places, entries) = (Places(), [RecordEntry]())
        for _ in 0..<5 { entries.append(try subject.add(&places, in: failures)) }
        let all = try subject.add(&places, replaces: true, in: failures)
        let tail = RecordTail(last: all.position, entries: [all])
        for subject in [subject, try open("a")] {
          failures.expect(try subject.read(after: nil), is: tail, "the journal")
          failures.expect(try subject.read(after: entries[4].position), is: tail, "what follows the last one before")
          failures.expect(try subject.read(after: entries[1].position), is: tail, "what follows an earlier one")
        }
        let next = try subject.add(&places, in: failures)
        failures.expect(
          try open("a").read(after: entries[1].position),
          is: RecordTail(last: next.position, entries: [all, next]), "what follows an earlier one then")
      }
    ),
    Case(
      "after a removal nothing is left, also after reopening, and a new journal may begin",
      { open, subject, failures in
        var places = Places()
        for _ in 0..<3 { try subject.add(&places, in: failures) }
        try subject.removeAll()
        let other = try open("a")
        failures.expect(try other.read(after: nil), is: RecordTail(last: nil), "the journal")
        failures.expect(try other.read(after: places.last), is: RecordTail(last: nil), "what follows its last entry")
        var next = Places()
        let first = try other.add(&next, in: failures)
        failures.expect(
          try other.read(after: places.last), is: RecordTail(last: first.position, entries: [first]),
          "the journal that has begun")
      }
    ),
    Case(
      "after a sign-out nothing is left of the account",
      { open, subject, failures in
        var places = Places()
        for _ in 0..<3 { try subject.add(&places, in: failures) }
        try subject.setRefused(true)
        let mark = RecordEntry(RecordPosition(journal: places.journal &+ 1, number: 0), [7])
        try subject.signOut(leaving: mark)
        for other in [subject, try open("a")] {
          failures.expect(try other.read(after: nil).entries.filter { $0 != mark }, is: [], "the entries")
          failures.expect(!other.isRefused, "a refusal of the account is still known")
        }
      }
    ),
    Case(
      "partitions are apart",
      { open, subject, failures in
        let (other, names) = (try open("b"), ["a", "b"])
        var places = [Places(), Places()]
        for round in 0..<3 {
          for (index, storage) in [subject, other].enumerated() {
            try storage.add(&places[index], Array("\(names[index]) \(round)".utf8), in: failures)
          }
        }
        try subject.removeAll()
        failures.expect(try open("a").read(after: nil), is: RecordTail(last: nil), "the removed partition")
        let found = try open("b").read(after: nil).entries.map { String(decoding: $0.bytes, as: UTF8.self) }
        failures.expect(found, is: ["b 0", "b 1", "b 2"], "the other one")
      }
    ),
    Case(
      "several that add at once are one after the other, and none is lost",
      { open, subject, failures in
        let journal = UInt64.random(in: .min ... .max)
        let added = Locked<[RecordEntry]>([])
        let storages = try (0..<4).map { _ in try open("a") }
        try onThreads(4, rounds: 20) { thread, round in
          guard round < 20 else { return }
          let bytes = Array("\(thread) \(round)".utf8)
          failures.note {
            for _ in 0..<10_000 {
              let last = try storages[thread].read(after: nil).last
              let entry = RecordEntry(last?.next ?? RecordPosition(journal: journal, number: 0), bytes)
              let isDone =
                if let last, round != 10 {
                  try storages[thread].append(entry, after: last)
                } else {
                  try storages[thread].replaceAll(with: entry, after: last)
                }
              if isDone { return added.withLock { $0.append(entry) } }
            }
            failures.add("an entry was not added in 10,000 attempts")
          }
        }
        let numbers = added.withLock { $0.map(\.position.number).sorted() }
        failures.expect(numbers, is: Array(0..<80), "the numbers of the entries")
        let tail = try subject.read(after: nil)
        let all = added.withLock { $0.sorted { $0.position.number < $1.position.number } }
        failures.expect(tail.entries, is: Array(all.suffix(tail.entries.count)), "the journal")
      }
    ),
  ]
}
