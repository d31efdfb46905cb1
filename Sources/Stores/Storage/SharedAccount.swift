import Streams
import SystemBase

/// What all stores of one account in this process have to know that have an asynchronous source of truth: whether the
/// server has refused the account, and that it was signed out. They find it by the source's identity; without one, each
/// store has its own.
///
/// It is kept while the account is refused, so that the next store finds that, and ends with a sign-out.
final class SharedAccount: Sendable {
  /// Stores that a sign-out has ended, but whose watchers and readers do not know that yet.
  struct Ended: Sendable {
    /// At least the latest version that one of them has given to a change.
    var latest = EntryVersion.zero
    var notifications: [@Sendable () -> Void] = []

    /// Lets them know, on this thread. One that stalls keeps no other store's from that.
    func notify() {
      if notifications.isEmpty { return }
      EffectRunner().run(notifications.map { EffectRunner.Action(mayStall: true, run: $0) })
    }
  }

  private struct State {
    var isRefused = false
    var isSignedOut = false
    /// Whether the account's next session has begun.
    var hasSuccessor = false
    var onSignOut: [ObjectIdentifier: @Sendable () -> Ended] = [:]
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
      let isOver = known.state.withLock { state in
        state.hasSuccessor = state.isSignedOut
        return state.isSignedOut
      }
      if !isOver { return known }
      ended = known
    }
  }

  private init(_ identity: StorageIdentity?) { self.identity = identity }

  deinit { identity?.forget() }

  /// Whether it was signed out, and its next session has begun.
  var hasSuccessor: Bool { state.withLock { $0.hasSuccessor } }

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

  /// Calls an action when another owner signs the account out, until the result is disposed; at once, if that has happened
  /// since the owner found the account. The action ends a store, and calls nothing that may stall.
  func onSignOut(of owner: AnyObject, _ action: @escaping @Sendable () -> Ended) -> any Disposable {
    let id = ObjectIdentifier(owner)
    let isSignedOut = state.withLock { state in
      if !state.isSignedOut { state.onSignOut[id] = action }
      return state.isSignedOut
    }
    if isSignedOut { action().notify() }
    return Disposables.create { [weak self] in
      let released = self?.state.withLock { $0.onSignOut.removeValue(forKey: id) }
      withExtendedLifetime(released) {}
    }
  }

  /// Ends all stores of the account but its owner's, unless it was signed out before.
  func signOut(by owner: AnyObject) -> Ended {
    let actions = state.withLock { state -> [ObjectIdentifier: @Sendable () -> Ended] in
      // Of two that sign out at once, the second does not end the first, which removes everything.
      if exchange(&state.isSignedOut, with: true) { return [:] }
      return exchange(&state.onSignOut, with: [:])
    }
    setRefused(false)
    var ended = Ended()
    for (id, action) in actions where id != ObjectIdentifier(owner) {
      let other = action()
      ended.latest = max(ended.latest, other.latest)
      ended.notifications += other.notifications
    }
    return ended
  }
}
