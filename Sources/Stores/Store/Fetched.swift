public import GraphQLClient
import HTTPClientCore
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

extension Fetched: Equatable where Value: Equatable {
  /// Whether values and errors are equal. Errors count as equal if they are of one type and have one description.
  public static func == (left: Fetched, right: Fetched) -> Bool {
    left.value == right.value && left.errors.isSame(as: right.errors)
  }
}

extension [any Error] {
  /// Whether two lists have the same errors, in order.
  func isSame(as other: [any Error]) -> Bool {
    count == other.count && zip(self, other).allSatisfy { Optional($0).isSame(as: $1) }
  }
}

extension Fetched {
  /// A GraphQL response: partial if it has errors beside the data.
  public init(_ response: GraphQLResponse<Value>) {
    self.init(response.data, errors: response.error.map { [$0] } ?? [])
  }
}
