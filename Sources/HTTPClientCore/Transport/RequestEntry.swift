import Streams
package import SystemBase

/// A request from where it enters a client's middlewares until it ends: what everything that is sent for it has in
/// common, whichever layer sends it.
///
/// Copies share its state: for whom the request is, and how often it was sent.
package struct RequestEntry: Sendable {
  /// For whom a request is, by a provider of tokens.
  package struct Account: Hashable, Sendable {
    /// What tells providers apart.
    package let provider: ObjectIdentifier

    /// The name of the header field that carries the provider's tokens.
    package let fieldName: String

    /// The token when the request entered; `nil` if nobody was signed in. It may be replaced by another one of the
    /// same account before the request is sent.
    package let token: Token?

    package init(provider: ObjectIdentifier, fieldName: String, token: Token?) {
      self.provider = provider
      self.fieldName = fieldName
      self.token = token
    }
  }

  /// Tokens and accounts are compared byte by byte: those that look alike may be two.
  package struct Token: Hashable, Sendable {
    package let account: String?
    package let value: String

    package init(account: String?, value: String) {
      self.account = account
      self.value = value
    }

    package static func == (one: Token, other: Token) -> Bool {
      one.value.hasBytes(of: other.value) && one.account.hasBytes(of: other.account)
    }

    package func hash(into hasher: inout Hasher) { value.hashBytes(into: &hasher) }
  }

  private struct State {
    var accounts: ShortList<Account>
    /// How often the request was handed to a transport.
    var sendCount = 0
    /// How many of these were steps of a protocol, not repetitions.
    var stepCount = 0
    var hasReplayed = false
    /// How often the request may be sent, steps aside, if a layer has said so.
    var limit: Int?
    /// The budgets that have counted the request.
    var budgets = ShortList<ObjectIdentifier>()

    var attemptCount: Int { sendCount - stepCount }
    var mayBeRepeated: Bool { attemptCount < limit ?? 3 }
  }

  private let state: Locked<State>

  package init(_ accounts: ShortList<Account> = ShortList()) {
    state = Locked(State(accounts: accounts))
  }

  /// For whom the request is: nobody's tokens but theirs are sent with it.
  package var accounts: ShortList<Account> { state.withLock { $0.accounts } }

  /// For whom the request is, by this provider; without one, by the only provider that is known.
  package func account(of provider: ObjectIdentifier?) -> Account? {
    state.withLock { state in
      guard let provider else { return state.accounts.only }
      return state.accounts.first { $0.provider == provider }
    }
  }

  /// Whether it has an account, or nobody, by this provider.
  fileprivate func knows(_ provider: ObjectIdentifier) -> Bool {
    state.withLock { state in state.accounts.contains { $0.provider == provider } }
  }

  /// Adds the account by another provider, unless that has one already, and returns the one that counts.
  package func pin(_ account: Account) -> Account {
    state.withLock { state in
      if let pinned = state.accounts.first(where: { $0.provider == account.provider }) { return pinned }
      state.accounts.append(account)
      return account
    }
  }

  // MARK: - How often it is sent

  /// How often it was handed to a transport.
  package var sendCount: Int { state.withLock { $0.sendCount } }

  /// How often it was sent, apart from steps.
  package var attemptCount: Int { state.withLock { $0.attemptCount } }

  /// Whether its limit, which is 3 unless a layer sets it, allows another attempt.
  package var mayBeRepeated: Bool { state.withLock { $0.mayBeRepeated } }

  /// Sets how often it may be sent, unless a layer outside the caller has done so.
  package func limitAttempts(to limit: Int) { state.withLock { $0.limit = $0.limit ?? limit } }

  /// Records that it is handed to a transport.
  package func recordSending() { state.withLock { $0.sendCount += 1 } }

  /// Records that a transport sends it once more by itself; returns false if the limit does not allow that.
  package func recordResending() -> Bool {
    state.withLock { state in
      guard state.mayBeRepeated else { return false }
      state.sendCount += 1
      return true
    }
  }

  /// Records that what is sent next is a step of a protocol, such as the request to which a redirect leads: not the
  /// same message again for want of a response.
  package func recordStep() { state.withLock { $0.stepCount += 1 } }

  /// Whether it may be sent again after a challenge.
  package var mayBeReplayed: Bool { state.withLock { !$0.hasReplayed || $0.mayBeRepeated } }

  /// Records that it is sent again after a challenge, which the first time is a step; returns false if it was sent often
  /// enough meanwhile, as two attempts at once may be challenged.
  package func recordReplay() -> Bool {
    state.withLock { state in
      guard !state.hasReplayed || state.mayBeRepeated else { return false }
      if !state.hasReplayed { state.stepCount += 1 }
      state.hasReplayed = true
      return true
    }
  }

  /// Records that the request was part of another one, and is sent by itself now.
  package func recordStep(after other: RequestEntry) {
    let (sendCount, stepCount) = other.state.withLock { ($0.sendCount, $0.stepCount) }
    state.withLock { state in
      state.sendCount += sendCount
      state.stepCount += stepCount + 1
    }
  }

  /// Whether a budget counts the request for the first time.
  package func isFirst(for budget: ObjectIdentifier) -> Bool {
    state.withLock { state in
      guard !state.budgets.contains(where: { $0 == budget }) else { return false }
      state.budgets.append(budget)
      return true
    }
  }
}

extension HTTPRequest {
  /// Begins the request, unless it has begun, for the accounts that the middlewares of this stack have tokens of, where no
  /// stack before has pinned them.
  package mutating func enter(_ stack: StackCredentials) {
    if let entry = context.entry {
      for source in stack.accounts where !entry.knows(source.provider) && !headers.contains(source.fieldName) {
        _ = entry.pin(source.account)
      }
    } else {
      var accounts = ShortList<RequestEntry.Account>()
      for source in stack.accounts where !headers.contains(source.fieldName) { accounts.append(source.account) }
      context.entry = RequestEntry(accounts)
    }
  }

  /// The entry of a request that has entered, as one has in a run; else an empty one.
  package var entry: RequestEntry { context.entry ?? RequestEntry() }

  /// The request's entry, which is made if it has none: a middleware may be called without a client.
  package mutating func entered() -> RequestEntry {
    if let entry = context.entry { return entry }
    let entry = RequestEntry()
    context.entry = entry
    return entry
  }

  /// Records that a transport sends the request once more by itself; returns false if it was sent often enough.
  package func recordResending() -> Bool { context.entry?.recordResending() ?? true }
}

extension RequestEntry.Token: CustomStringConvertible, CustomReflectable {
  package var description: String { Redactor.placeholder }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
