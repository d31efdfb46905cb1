/// What a store itself has to say of a read that cannot be answered.
public enum StoreError: Error, Hashable, Sendable {
  /// Nothing is kept for the key, and the policy asks nobody else.
  case notCached

  /// The request ended without an answer.
  case noResponse

  /// The store was closed, as at a sign-out; it keeps and gives nothing any more.
  case closed
}

extension StoreError: CustomStringConvertible {
  /// One line for people.
  public var description: String {
    switch self {
    case .notCached: "Nothing is kept for this key."
    case .noResponse: "The request ended without an answer."
    case .closed: "The store is closed."
    }
  }
}
