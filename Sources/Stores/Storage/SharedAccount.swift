import Streams
import SystemBase

/// What all stores of one account in this process have to know that have an asynchronous source of truth: whether the
/// server has refused the account, that it was signed out, and what the session before may have left in the source. They
/// find it by the source's identity; without one, each store has its own.
///
/// It is kept while the account is refused, so that the next store finds that, and ends with a sign-out. After that, it is
/// kept by the next session until its values are removed.
final class SharedAccount: Sendable {
  /// Stores that a sign-out has ended, but whose watchers and readers do not know that yet.
  struct Ended: Sendable {
    /// Whether the account was signed out by this call, and not by an earlier one.
    var isFirst = false
    /// At least the latest version that one of them has given to a change.
    var latest = EntryVersion.zero
    var notifications: [@Sendable () -> Void] = []

    /// Lets them know, on this thread. One that stalls keeps no other store's from that.
    func notify() {
      if notifications.isEmpty { return }
      EffectRunner().run(notifications.map { EffectRunner.Action(mayStall: true, run: $0) })
    }
  }

  /// What earlier sessions may have in the source of truth.
  enum Remains: Equatable {
    case nothing
    /// Values of smaller versions, which are being removed.
    case older(than: EntryVersion)
    /// Everything that is there, and is written there now, may be removed, whatever its version.
    case everything
  }

  private struct State {
    var isRefused = false
    var isSignedOut = false
    /// How many removals of everything are running, which remove values of all versions.
    var removals = 0
    /// From a sign-out until all is removed: who does that, and with which version, once that is known.
    var emptying: (owner: ObjectIdentifier, version: EntryVersion?)?
    /// Whether the account's next session has begun.
    var hasSuccessor = false
    /// The sessions before and after this one, as long as the former has remains.
    var predecessor: SharedAccount?
    var successor: SharedAccount?
    var onSignOut: [ObjectIdentifier: @Sendable () -> Ended] = [:]
    /// What is to be begun once no earlier session removes everything any more.
    var waiting: [ObjectIdentifier: @Sendable () -> Void] = [:]
    /// Keeps this object while it has to remember something.
    var remembered: SharedAccount?

    /// What this session may have in the source after its end.
    var remains: Remains {
      if removals > 0 { return .everything }
      return emptying.map { $0.version.map { .older(than: $0) } ?? .everything } ?? .nothing
    }
  }

  private let identity: StorageIdentity?
  private let state = Locked(State())

  /// The account of a source of truth: that of the stores which have opened the same, if there is one.
  static func of(_ path: String?) -> SharedAccount {
    guard let path else { return SharedAccount(nil) }
    let identity = StorageIdentity(type: ObjectIdentifier(Self.self), path: path)
    var ended: SharedAccount?
    while true {
      let known = identity.storage(insteadOf: ended) { SharedAccount(identity, after: ended) } as? SharedAccount
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

  private init(_ identity: StorageIdentity?, after predecessor: SharedAccount? = nil) {
    self.identity = identity
    guard let predecessor else { return }
    predecessor.state.withLock { before in
      if before.predecessor == nil, before.remains == .nothing { return }
      before.successor = self
      // In one step, since both forget each other when nothing is left.
      state.withLock { $0.predecessor = predecessor }
    }
  }

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

  /// Ends all stores of the account but its owner's, unless it was signed out before. If this is the first sign-out, the
  /// owner has to remove everything; see ``setRemains(olderThan:)``.
  func signOut(by owner: AnyObject) -> Ended {
    var ended = Ended()
    let actions = state.withLock { state -> [ObjectIdentifier: @Sendable () -> Ended] in
      // Of two that sign out at once, the second does not end the first, which removes everything.
      if exchange(&state.isSignedOut, with: true) { return [:] }
      ended.isFirst = true
      state.emptying = (ObjectIdentifier(owner), nil)
      return exchange(&state.onSignOut, with: [:])
    }
    setRefused(false)
    for (id, action) in actions where id != ObjectIdentifier(owner) {
      let other = action()
      ended.latest = max(ended.latest, other.latest)
      ended.notifications += other.notifications
    }
    return ended
  }
}

/// What a session leaves in the source of truth, from its sign-out until that is removed.
extension SharedAccount {
  /// What earlier sessions may have in the source of truth.
  var remains: Remains {
    guard let predecessor = state.withLock({ $0.predecessor }) else { return .nothing }
    switch (predecessor.state.withLock { $0.remains }, predecessor.remains) {
    case (.everything, _), (_, .everything): return .everything
    case (.older(let one), .older(let other)): return .older(than: max(one, other))
    case (let some, .nothing), (.nothing, let some): return some
    }
  }

  /// Sets the version of what a sign-out removes, without calling anything; see ``notifySuccessors()``.
  func setRemains(olderThan version: EntryVersion) { state.withLock { $0.emptying?.version = version } }

  /// Begins to remove everything, whatever its version, unless the next session may have written by now; returns whether
  /// it does.
  func beginRemoval() -> Bool {
    state.withLock { state in
      if !state.hasSuccessor { state.removals += 1 }
      return !state.hasSuccessor
    }
  }

  /// Ends such a removal.
  func endRemoval() { state.withLock { $0.removals -= 1 } }

  /// All is removed, if it is the owner of the sign-out that says so, and has set the version.
  func endRemains(by owner: AnyObject) {
    state.withLock { state in
      if let emptying = state.emptying, emptying.owner == ObjectIdentifier(owner), emptying.version != nil {
        state.emptying = nil
      }
    }
  }

  /// Whether an earlier session may remove what an owner writes now. If so, calls its action once that is over, on any
  /// thread, and keeps it until then.
  func mustWait(_ owner: AnyObject, then action: @escaping @Sendable () -> Void) -> Bool {
    if remains != .everything { return false }
    let id = ObjectIdentifier(owner)
    let old = state.withLock { exchange(&$0.waiting[id], with: action) }
    withExtendedLifetime(old) {}
    if remains == .everything { return true }
    // It was over before the action was there.
    let unused = state.withLock { $0.waiting.removeValue(forKey: id) }
    withExtendedLifetime(unused) {}
    return false
  }

  /// Lets the sessions after this one know what is removed; those that find nothing of earlier ones forget these.
  func notifySuccessors() {
    var account = self
    while let next = account.state.withLock({ $0.successor }) {
      if account.remains == .nothing, account.state.withLock({ $0.remains }) == .nothing {
        let released = (
          account.state.withLock { exchange(&$0.successor, with: nil) },
          next.state.withLock { exchange(&$0.predecessor, with: nil) }
        )
        withExtendedLifetime(released) {}
      }
      if next.remains != .everything {
        for action in next.state.withLock({ exchange(&$0.waiting, with: [:]) }).values { action() }
      }
      account = next
    }
  }
}
