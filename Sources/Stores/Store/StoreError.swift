public import SystemBase

/// Why a store cannot serve a read, or make a mutation. Cases may be added.
@nonexhaustive
public enum StoreError: Error, Hashable, Sendable {
  /// Nothing is cached for the key, and the policy makes no request.
  case notCached

  /// The request ended without a response.
  case noResponse

  /// The store's account was signed out; it no longer keeps or returns anything.
  case signedOut

  /// The store was closed; it no longer keeps or returns anything.
  case closed

  /// So many changes are not in the source of truth, and lost if the process ends now.
  case unwritten(count: Int)
}

extension StoreError: CustomStringConvertible {
  /// One line for people.
  public var description: String {
    switch self {
    case .notCached: "Nothing is cached for this key: read it with a policy that makes a request."
    case .noResponse: "The request ended without a response."
    case .signedOut: "The store's account was signed out."
    case .closed: "The store was closed."
    case .unwritten(let count):
      "The source of truth has not taken \(count) changes, which are lost if the process ends now."
    }
  }
}

extension StoreError: LocalizedError {
  /// What `localizedDescription` gives: `description`.
  public var errorDescription: String? { description }
}
