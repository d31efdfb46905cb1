public import Repository

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
  public struct Violation: Error, CustomStringConvertible {
    /// What was found, and what should have been, in a line for each.
    public let description: String
  }

  /// All cases.
  public static let cases: [Case] = writingChecks + keyChecks + partitionChecks + concurrencyChecks
}
