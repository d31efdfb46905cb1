public import Foundation

/// An error that comes from an operator itself. Cases may be added.
@nonexhaustive
public enum StreamError: Error, Hashable, Sendable {
  /// The stream completed without an element, but one was needed.
  case noElements
  /// The stream had a second element, but only one was allowed.
  case moreThanOneElement
  /// No element came in time.
  case timeout
}

extension StreamError: CustomStringConvertible {
  /// One line for people.
  public var description: String {
    switch self {
    case .noElements: "The stream completed without an element."
    case .moreThanOneElement: "The stream had more than one element."
    case .timeout: "No element came in time."
    }
  }
}

extension StreamError: LocalizedError {
  /// The same as `description`: what `localizedDescription` gives.
  public var errorDescription: String? { description }
}
