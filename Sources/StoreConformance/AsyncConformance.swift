import Dispatch
public import Stores
import Streams
import SystemBase

/// What every `AsyncSourceOfTruth` must do: all that a synchronous one must, and what many processes need.
///
///     @Test(arguments: StoreConformance.asyncCases)
///     func `it conforms`(_ test: StoreConformance.AsyncCase) async throws {
///       try await test.check { try MyStore(url, partition: $0) }
///     }
extension StoreConformance {
  /// An asynchronous source of truth under test.
  public typealias AsyncSubject = any AsyncSourceOfTruth<String, String>

  /// One thing that an asynchronous source of truth must do.
  public struct AsyncCase: Sendable, CustomStringConvertible {
    typealias Opening = @Sendable (_ partition: String) throws -> AsyncSubject

    /// What it must do, as a sentence.
    public let description: String

    fileprivate let body: @Sendable (@escaping Opening) async throws -> Void

    /// Throws a ``StoreConformance/Violation``, or an error of the source of truth, unless that does what it must.
    /// - Parameter open: Opens a partition, as another process does: what one instance writes is a change by others for
    ///   every other. The contents of the partitions are deleted.
    public func check(opening open: @escaping @Sendable (_ partition: String) throws -> AsyncSubject) async throws {
      try await body(open)
    }

    fileprivate init(_ description: String, body: @escaping @Sendable (@escaping Opening) async throws -> Void) {
      self.description = description
      self.body = body
    }
  }

  /// All cases.
  public static let asyncCases: [AsyncCase] = cases.map(AsyncCase.init) + sharingChecks + versionChecks
}

extension StoreConformance.AsyncCase {
  /// A case for synchronous sources, on a thread of its own, which may wait for tasks.
  fileprivate init(_ test: StoreConformance.Case) {
    self.init(test.description) { open in
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        do throws(SystemError) {
          try startThread(named: "StoreCheck") {
            continuation.resume(with: Result { try test.check { Waiting(truth: try open($0)) } })
          }
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
  }

  /// A case about two instances of one partition.
  init(
    _ description: String,
    _ body:
      @escaping @Sendable (
        _ one: StoreConformance.AsyncSubject, _ other: StoreConformance.AsyncSubject, Failures
      ) async throws -> Void
  ) {
    self.init(description) { open in
      let (one, other, failures) = (try open("a"), try open("a"), Failures())
      try await one.removeAll(version: later())
      try await body(one, other, failures)
      if !failures.lines.isEmpty {
        throw StoreConformance.Violation(description: failures.lines.joined(separator: "\n"))
      }
    }
  }
}

/// A synchronous face, for threads that are not Swift's. Where a case gives no versions, each change has a later one.
private struct Waiting: SourceOfTruth {
  private static let writer: UInt64 = 8

  let truth: StoreConformance.AsyncSubject

  func read(_ key: String) throws -> StoredValue<String>? {
    var stored = try wait { try await truth.read(key) }
    if stored?.version.writer == Self.writer { stored?.version = .first }
    return stored
  }

  func write(_ stored: StoredValue<String>, for key: String) throws {
    var stored = stored
    if stored.version == .first { stored.version = later(by: Self.writer) }
    _ = try wait { [stored] in try await truth.write(stored, for: key, isResponse: false) }
  }

  func remove(_ key: String) throws { _ = try wait { try await truth.remove(key, version: later()) } }

  func removeAll() throws { try wait { try await truth.removeAll(version: later()) } }

  func keys() throws -> [String] { try wait { try await truth.keys() } }

  private func wait<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
    let (done, result) = (DispatchSemaphore(value: 0), Locked<Swift.Result<Result, any Error>?>(nil))
    Task {
      do {
        let value = try await body()
        result.withLock { $0 = .success(value) }
      } catch {
        result.withLock { $0 = .failure(error) }
      }
      done.signal()
    }
    done.wait()
    return try result.withLock { $0 ?? .failure(CancellationError()) }.get()
  }
}

extension StoreConformance {
  static let sharingChecks: [AsyncCase] = [
    AsyncCase(
      "a key is marked as out of date, and one without a value is not made",
      { one, other, failures in
        let (first, second) = (later(), later())
        await failures.expect(.done) { try await one.write(stored("v", first), for: "k", isResponse: false) }
        await failures.expect(.done) { try await other.invalidate("k", version: second) }
        failures.expect(try await one.read("k"), is: stored("v", isInvalidated: true, first), "the marked value")
        await failures.expect(.done) { try await other.invalidate("unknown", version: later()) }
        failures.expect(try await one.read("unknown"), is: nil, "a key without a value")
        let third = later()
        await failures.expect(.done) { try await one.write(stored("new", third), for: "k", isResponse: false) }
        failures.expect(try await other.read("k"), is: stored("new", third), "the value after the next write")
      }
    ),
    AsyncCase(
      "what one instance writes, invalidates and removes is reported to the other",
      { one, other, failures in
        let reported = Reported(other.changes)
        for (index, change) in [
          { try await one.write(stored("v", later()), for: "k", isResponse: false) },
          { try await one.invalidate("k", version: later()) }, { try await one.remove("k", version: later()) },
        ].enumerated() as EnumeratedSequence<[@Sendable () async throws -> SourceWriteResult]> {
          reported.forget()
          _ = try await change()
          failures.expect(await reported.contains("k"), "change \(index) was not reported within a second")
        }
        _ = try await one.write(stored("v", later()), for: "k", isResponse: false)
        reported.forget()
        try await one.removeAll(version: later())
        failures.expect(await reported.contains("k"), "the removal of everything was not reported within a second")
      }
    ),
    AsyncCase(
      "a change is visible to reads once it is reported",
      { one, other, failures in
        let reported = Reported(other.changes)
        for round in 0..<50 {
          reported.forget()
          let version = later()
          _ = try await one.write(stored("\(round)", version), for: "k", isResponse: false)
          guard await reported.contains("k") else {
            return failures.add("write \(round) was not reported within a second")
          }
          failures.expect(try await other.read("k"), is: stored("\(round)", version), "the reported value")
        }
      }
    ),
    AsyncCase(
      "a change is reported under its key, whatever that is",
      { one, other, failures in
        let reported = Reported(other.changes)
        for key in hostileKeys {
          reported.forget()
          _ = try await one.write(stored("v", later()), for: key, isResponse: false)
          guard await reported.contains(key) else {
            return failures.add("the write of \(key.prefix(40).debugDescription) was not reported within a second")
          }
        }
      }
    ),
    AsyncCase(
      "a change in another partition is not reported",
      body: { open in
        let (one, other, elsewhere) = (try open("a"), try open("a"), try open("b"))
        for subject in [one, elsewhere] { try await subject.removeAll(version: later()) }
        let reported = Reported(other.changes)
        _ = try await elsewhere.write(stored("v", later()), for: "of the other partition", isResponse: false)
        _ = try await one.write(stored("v", later()), for: "k", isResponse: false)
        guard await reported.contains("k") else {
          throw Violation(description: "the write was not reported within a second")
        }
        if reported.all.contains(.key("of the other partition")) {
          throw Violation(description: "a key of another partition was reported")
        }
      }
    ),
    AsyncCase(
      "no read gives an older value after a newer one",
      { one, other, failures in
        let reading = Task {
          var last = -1
          let end = ContinuousClock.now + .seconds(10)
          while last < 99, ContinuousClock.now < end {
            guard let value = try await other.read("k").flatMap({ Int($0.value) }) else { continue }
            if value < last { return failures.add("value \(value) was read after value \(last)") }
            last = value
          }
          if last < 99 { failures.add("the last value was not read") }
        }
        for number in 0..<100 { _ = try await one.write(stored("\(number)", later()), for: "k", isResponse: false) }
        try await reading.value
      }
    ),
    AsyncCase(
      "a cancelled read ends",
      { one, _, failures in
        let began = ContinuousClock.now
        let reading = Task { try await one.read("k") }
        reading.cancel()
        _ = await reading.result
        failures.expect(ContinuousClock.now - began < one.timeLimit + .seconds(1), "it takes longer than its limit")
      }
    ),
  ]
}

/// The changes that a source has reported.
private final class Reported: Sendable {
  private let changes = Locked<[SourceChange<String>]>([])
  private let bag = DisposeBag()

  init(_ stream: Observable<SourceChange<String>>) {
    stream.subscribe(onNext: { [changes] change in changes.withLock { $0.append(change) } }).disposed(by: bag)
  }

  var all: [SourceChange<String>] { changes.withLock { $0 } }

  func forget() { changes.withLock { $0 = [] } }

  /// Whether a change of a key, or of all, is reported within a second.
  func contains(_ key: String) async -> Bool {
    for _ in 0..<1_000 {
      if changes.withLock({ $0.contains { $0 == .key(key) || $0 == .all } }) { return true }
      try? await Task.sleep(for: .milliseconds(1))
    }
    return false
  }
}
