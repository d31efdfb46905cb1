public import Repository

/// Checks of what every ``SourceOfTruth`` must do, for the authors of such types.
///
///     let failures = StoreConformance(opening: { try MyDatabase(path, partition: $0) }).failures()
///     #expect(failures.isEmpty)
///
/// It uses no test framework: each failure is a line that says what was expected. Keys and values are strings.
public struct StoreConformance: Sendable {
  /// A source of truth under test.
  public typealias Subject = any SourceOfTruth<String, String>

  private let open: @Sendable (_ partition: String) throws -> Subject

  /// Takes a closure that opens a partition of the same store. It is called many times, and must find what was written
  /// before. The checks delete the contents of the partitions that they use.
  public init(opening open: @escaping @Sendable (_ partition: String) throws -> Subject) {
    self.open = open
  }

  /// Runs all checks. The list is empty if none fails.
  public func failures() -> [String] {
    Self.checks.flatMap { name, check in
      do {
        let subject = try open("a")
        try subject.removeAll()
        try open("b").removeAll()
        var failures = Failures(check: name)
        try check(self, subject, &failures)
        return failures.lines
      } catch {
        return ["\(name): an error: \(error)"]
      }
    }
  }

  /// The names of the checks.
  public static var names: [String] { checks.map(\.name) }

  func reopened(_ partition: String = "a") throws -> Subject { try open(partition) }

  typealias Check = @Sendable (StoreConformance, Subject, inout Failures) throws -> Void

  static let checks: [(name: String, run: Check)] =
    writingChecks + keyChecks + partitionChecks + concurrencyChecks
}
