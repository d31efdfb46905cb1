import SystemBase

/// What was made of the last token: most requests are sent with the same one, and hashing or checking a long one takes
/// longer than most else that is done for a request.
final class LastToken<Value: Sendable>: Sendable {
  /// An object, which is copied by one reference; with the token as such, which no dump shows.
  private final class Entry: Sendable {
    let token: AccessToken
    let value: Value

    init(_ token: AccessToken, _ value: Value) {
      self.token = token
      self.value = value
    }
  }

  private let last = Locked<Entry?>(nil)

  /// What a closure makes of a token, called only if the token is not the last one.
  func value<Failure: Error>(
    of token: AccessToken, _ make: (AccessToken) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    if let last = last.withLock({ $0 }), last.token.value.hasBytes(of: token.value) { return last.value }
    let entry = Entry(token, try make(token))
    last.withLock { $0 = entry }
    return entry.value
  }
}
