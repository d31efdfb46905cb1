public import Networking
import Streams

/// A server's response as a store takes it: a value, and what is missing from it.
public struct Fetched<Value: Sendable>: Sendable {
  /// The value.
  public var value: Value

  /// What went wrong besides. A response with errors is partial, and never replaces a complete one.
  public var errors: [any Error]

  /// Makes a response, which is complete unless there are errors.
  public init(_ value: Value, errors: [any Error] = []) {
    self.value = value
    self.errors = errors
  }
}

extension Fetched {
  /// A GraphQL response: partial if it has errors beside the data.
  public init(_ response: GraphQLResponse<Value>) {
    self.init(response.data, errors: response.error.map { [$0] } ?? [])
  }
}
