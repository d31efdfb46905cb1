/// The answer of a server as a store takes it: a value, and what is missing from it.
public struct Fetched<Value: Sendable>: Sendable {
  /// The value.
  public var value: Value

  /// What went wrong beside it: with any, the answer is partial, and never takes a complete one's place.
  public var errors: [any Error]

  /// Makes an answer, complete unless there are errors.
  public init(_ value: Value, errors: [any Error] = []) {
    self.value = value
    self.errors = errors
  }
}
