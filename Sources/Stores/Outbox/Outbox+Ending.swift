import Streams
import SystemBase

/// How an outbox ends, and what its group has to know.
extension Outbox {
  /// Stops sending, and keeps what waits for the next outbox of the folder, which can be opened when this returns:
  /// after the attempt in progress, if there is one, has ended. ``changes`` completes, and submitters whose mutation
  /// was not sent get ``OutboxError/queued(because:)``. What is submitted later is not kept: it fails with
  /// ``OutboxError/closed``. At the end of a process, no call is needed.
  public func close() async {
    let timer = state.withLock { state in
      state.isClosed = true
      return exchange(&state.timer, with: nil)
    }
    timer?.dispose()
    // After what was submitted before.
    await onQueue { self.state.withLock { $0.acceptsNothing = true } }
    _ = await state.withLock { $0.turn }?.value
    await onQueue { self.removeFinished() }
    publisher.end()
    place?.close()
    await publisher.delivered()
  }

  /// Ends the outbox because its account ends: requests are cancelled, and all entries of the partition are removed.
  /// Outboxes of it that are open in other processes end, too: when something is submitted or sent, when a flush looks
  /// for something to send, or when somebody subscribes to ``changes`` or lets a store show them. An idle one that is
  /// not used does not look.
  /// What was queued, was being added or being sent comes to nothing: it fails with ``OutboxError/signedOut``.
  ///
  /// Throws ``FileError`` if some entries cannot be removed; the others are removed then. Another call tries again, and so
  /// does who opens an outbox of the folder next: none sends them.
  /// To continue later, do not call this, but ``close()``: what waits is in the folder.
  public func signOut() async throws {
    let waiters = cancel(leavingRemains: true)
    let removal = await onQueue { Result { try self.removeAll() } }
    end(waiters)
    await publisher.delivered()
    try removal.get()
  }

  /// Ends the outbox because its account ends, for a caller that is not a task: blocks while files are removed, for ten
  /// seconds at most.
  public func signOut() throws {
    let waiters = cancel(leavingRemains: true)
    defer { end(waiters) }
    try removeAll()
  }

  /// Whether it sends nothing any more, since it is closed, or its account is signed out, here or in another process;
  /// and all entries are removed that a sign-out was to remove.
  public var hasEnded: Bool { isOver && !state.withLock { $0.hasRemains } }

  var isOver: Bool { isSignedOut.value || state.withLock { $0.isClosed } }

  private func removeAll() throws {
    try folder.signOut()
    state.withLock { $0.hasRemains = false }
  }

  /// Calls a closure each time that there is something to send, on any thread, while somebody uses the outbox: from
  /// then on it has to be retained as long as it is busy.
  public func notifyWhenBusy(_ action: @escaping @Sendable () -> Void) {
    let old = state.withLock { exchange(&$0.onBusy, with: action) }
    withExtendedLifetime(old) {}
    if isBusy { action() }
  }

  /// Cancels what is being sent; returns the submitters, who have to get an error.
  private func cancel(leavingRemains: Bool = false) -> [AnyObserver<Response>] {
    let (waiters, timer) = state.withLock { state in
      state.hasRemains = leavingRemains
      return (exchange(&state.waiters, with: [:]), exchange(&state.timer, with: nil))
    }
    timer?.dispose()
    isSignedOut.onNext(true)
    return Array(waiters.values)
  }

  private func end(_ waiters: [AnyObserver<Response>]) {
    for waiter in waiters { fail(waiter, OutboxError.signedOut) }
    publisher.end()
    place?.close()
  }

  /// Ends the outbox if another process has signed the account out; reads a file for that.
  func endIfSignedOutElsewhere() {
    if !isOver, folder.isSignedOut { endIfSignedOut(OutboxError.signedOut) }
  }

  /// Ends the outbox if an error says that another process has signed the account out.
  func endIfSignedOut(_ error: any Error) {
    if case OutboxError.signedOut = error, !isSignedOut.value { end(cancel()) }
  }
}
