public import HTTP

/// What every ``HTTPTransport`` must do, as test cases that run a transport against real servers on 127.0.0.1,
/// well-behaved and not.
///
///     @Test(arguments: TransportConformance.cases)
///     func `it conforms`(_ test: TransportConformance.Case) async throws {
///       try await test.check(MyTransport())
///     }
///
/// A case takes some seconds at most. Several may run at a time, but the deadlines that some of them measure want a
/// machine that is not overloaded.
public enum TransportConformance {
  /// One thing that a transport must do.
  public struct Case: Sendable, CustomStringConvertible {
    /// What it must do, as a sentence.
    public let description: String

    private let body: @Sendable (any HTTPTransport) async throws -> Void

    init(_ description: String, _ body: @escaping @Sendable (any HTTPTransport) async throws -> Void) {
      self.description = description
      self.body = body
    }

    /// Throws a ``Violation``, or what a server for the case could not do, unless the transport does what it must.
    public func check(_ transport: some HTTPTransport) async throws {
      try await body(transport)
    }
  }

  /// What a transport did in the place of what it must do.
  public struct Violation: Error, CustomStringConvertible {
    /// What happened, and what should have.
    public let description: String
  }

  /// All cases.
  public static let cases: [Case] = messages + faults + deadlines + streams + keptConnections
}
