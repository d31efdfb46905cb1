import Streams
import SystemBase

/// What all stores of one account in this process have to know that have an asynchronous source of truth: whether the
/// server has refused the account, and that it was signed out. They find it by the source's identity; without one, each
/// store has its own.
///
/// It is kept while the account is refused, so that the next store finds that, and ends with a sign-out.
final class SharedAccount: Sendable {
  private struct State {
    var isRefused = false
    var isSignedOut = false
    var onSignOut: [UInt64: @Sendable () -> Void] = [:]
    var lastNumber: UInt64 = 0
    /// Keeps this object while it has to remember something.
    var remembered: SharedAccount?
  }

  private let identity: StorageIdentity?
  private let state = Locked(State())

  /// The account of a source of truth: that of the stores which have opened the same, if there is one.
  static func of(_ path: String?) -> SharedAccount {
    guard let path else { return SharedAccount(nil) }
    let identity = StorageIdentity(type: ObjectIdentifier(Self.self), path: path)
    var ended: SharedAccount?
    while true {
      let known = identity.storage(insteadOf: ended) { SharedAccount(identity) } as? SharedAccount
      guard let known else { return SharedAccount(nil) }
      // After a sign-out, this is another session.
      if !known.state.withLock({ $0.isSignedOut }) { return known }
      ended = known
    }
  }

  private init(_ identity: StorageIdentity?) { self.identity = identity }

  deinit { identity?.forget() }

  /// Whether the server has refused the account.
  var isRefused: Bool { state.withLock { $0.isRefused } }

  /// Whether it knows something that no later store would find.
  var isNeeded: Bool { identity == nil && isRefused }

  func setRefused(_ isRefused: Bool) {
    let released = state.withLock { state in
      state.isRefused = isRefused && !state.isSignedOut
      return exchange(&state.remembered, with: state.isRefused && identity != nil ? self : nil)
    }
    // Released here, outside the lock.
    withExtendedLifetime(released) {}
  }

  /// Calls an action when the account is signed out, until the result is disposed.
  func onSignOut(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    let number = state.withLock { state in
      state.lastNumber += 1
      state.onSignOut[state.lastNumber] = action
      return state.lastNumber
    }
    return Disposables.create { [weak self] in
      let released = self?.state.withLock { $0.onSignOut.removeValue(forKey: number) }
      withExtendedLifetime(released) {}
    }
  }

  /// Ends all stores of the account.
  func signOut() {
    let actions = state.withLock { state in
      state.isSignedOut = true
      return exchange(&state.onSignOut, with: [:])
    }
    setRefused(false)
    for action in actions.values { action() }
  }
}
