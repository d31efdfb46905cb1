public import HTTP

/// What every ``HTTPTransport`` must do, as test cases that run a transport against real servers on 127.0.0.1,
/// well-behaved and misbehaving.
///
///     @Test(arguments: TransportConformance.cases)
///     func `it conforms`(_ test: TransportConformance.Case) async throws {
///       try await test.check(MyTransport())
///     }
///
/// A case takes a few seconds at most, and several may run at a time. A case that measures a deadline does so up to 5
/// times, since a busy machine may delay some of them.
public enum TransportConformance {
  /// One requirement for a transport.
  public struct Case: Sendable, CustomStringConvertible {
    /// The requirement, as a sentence.
    public let description: String

    private let body: @Sendable (any HTTPTransport) async throws -> Void

    init(_ description: String, _ body: @escaping @Sendable (any HTTPTransport) async throws -> Void) {
      self.description = description
      self.body = body
    }

    /// Throws a ``Violation`` if the transport does not meet the requirement, or another error if a server for the case
    /// fails.
    public func check(_ transport: some HTTPTransport) async throws {
      try await body(transport)
    }
  }

  /// What a transport did instead of what it must do.
  public struct Violation: Error, CustomStringConvertible {
    /// What happened, and what should have happened.
    public let description: String
  }

  /// All cases.
  public static let cases: [Case] = messages + faults + deadlines + streams + keptConnections
}
