/// What a store itself has to say of a read that cannot be answered.
public enum StoreError: Error, Hashable, Sendable {
  /// Nothing is kept for the key, and the policy asks nobody else.
  case notCached

  /// The request ended without an answer.
  case noResponse

  /// The store's account was signed out; it keeps and gives nothing any more.
  case signedOut
}

extension StoreError: CustomStringConvertible {
  /// One line for people.
  public var description: String {
    switch self {
    case .notCached: "Nothing is kept for this key."
    case .noResponse: "The request ended without an answer."
    case .signedOut: "The store's account was signed out."
    }
  }
}
