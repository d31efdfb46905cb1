import HTTPClientCore
import Streams
import SystemBase

/// Which tokens are of one user although they name no account: those that refreshes have brought, one in the place of
/// another. A token that came in another way, such as a sign-in, is somebody else's.
///
/// Shared by the process, as several clients may have one provider. It holds hashes, and at most 1,024 of them.
enum TokenLineage {
  /// The hash of the first token of a user who has no name.
  typealias Founder = Int

  private struct Origin: Hashable {
    var founder: Founder
    /// Whether that was brought while nobody was signed in, for requests that had none.
    var isOfNobody = false
  }

  private static let origins = RecentTable<Int, Origin?> { nil }

  /// Records what a refresh has brought.
  static func record(_ new: AccessToken, replacing old: AccessToken?) {
    let hash = hash(of: new.value)
    let origin = old.map { Self.origin(of: $0.value) } ?? Origin(founder: hash, isOfNobody: true)
    origins.withValue(of: hash) { $0 = origin }
  }

  /// The hash of a token, which takes as long as most else that is done for a request.
  static func hash(of value: String) -> Int {
    var hasher = Hasher()
    value.hashBytes(into: &hasher)
    return hasher.finalize()
  }

  private static func origin(of value: String) -> Origin { origin(ofHash: hash(of: value)) }

  private static func origin(ofHash hash: Int) -> Origin {
    // Reading keeps nothing: most tokens have replaced none.
    (origins.known(hash) ?? nil) ?? Origin(founder: hash)
  }

  /// Whose a token is that names no account, by its hash.
  static func founder(ofHash hash: Int) -> Founder { origin(ofHash: hash).founder }

  /// Whether a request that entered with one token may be sent with another: that of the same account, or, if one of
  /// them names none, one that a refresh has brought in its place.
  static func continues(_ pinned: RequestEntry.Token?, with token: AccessToken?) -> Bool {
    guard let token else { return pinned == nil }
    guard let pinned else { return origin(of: token.value).isOfNobody }
    if let account = pinned.account, let other = token.account { return account.hasBytes(of: other) }
    if pinned.value.hasBytes(of: token.value) { return true }
    return origin(of: pinned.value).founder == origin(of: token.value).founder
  }
}

extension AccessToken {
  /// The token as a request is pinned to it.
  var pinned: RequestEntry.Token { RequestEntry.Token(account: account, value: value) }
}

extension TokenProvider {
  /// What tells this provider apart from others; `nil` for a value, which has no identity.
  var identity: ObjectIdentifier? {
    type(of: self) is AnyClass ? ObjectIdentifier(self as AnyObject) : nil
  }
}
