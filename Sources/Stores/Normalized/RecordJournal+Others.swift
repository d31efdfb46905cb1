import HTTPClientCore
import Streams
import SystemBase

/// What other processes add to the storage: how a journal hears of it, reads it, and tries again what has failed.
extension RecordJournal {
  /// Sets who shows what others have added, and returns what calls watchers.
  func setReceiver(_ receiver: @escaping @Sendable (NormalizedRecords.Received) -> @Sendable () -> Void) {
    onReceived.withLock { $0 = receiver }
  }

  /// Waits for nothing: a storage may call this on the thread that others wait for while they use it.
  func noteOthers() {
    let begins = listening.withLock { listening in
      listening.isRepeated = true
      if listening.isBusy || listening.leavesToTimer { return false }
      listening.isBusy = true
      return true
    }
    if begins { _ = ElasticScheduler().schedule { [weak self] in self?.catchUpWithOthers() } }
  }

  private func catchUpWithOthers() {
    do {
      while listening.withLock({ $0.takesRepetition() }) { try catchUp() }
    } catch {
      listening.withLock { ($0.isBusy, $0.leavesToTimer) = (false, true) }
      // Made after that, since it ends that; a timer that a write has made may have done its work before.
      retryLater()
      configuration.onStorageError(error)
    }
  }

  /// Writes what could not be written before, and takes what others have added.
  private func catchUp() throws {
    if state.withLock({ $0.failures > 0 }) { try write() }
    try receive(showing: show)
    try keepRefusal()
    // What it has instead of what the storage has lost.
    if state.withLock(\.lacksChanges) { try write() }
    state.withLock { $0.failures = 0 }
  }

  /// Tries again after a pause, since nothing else may come. That it fails again was reported before.
  func retryLater() {
    let pause = state.withLock { state -> Duration? in
      guard state.isInUse else { return nil }
      if exchange(&state.awaitsRetry, with: true) {
        state.failures = max(state.failures, 1)
        return nil
      }
      state.failures += 1
      return Self.backoff.delay(after: state.failures)
    }
    guard let pause else { return }
    _ = configuration.clock.scheduler.schedule(after: pause) { [weak self] in
      _ = ElasticScheduler().schedule { [weak self] in self?.retry() }
    }
  }

  private func retry() {
    state.withLock { $0.awaitsRetry = false }
    guard (try? catchUp()) != nil else { return retryLater() }
    // What was reported meanwhile may have come after what was read.
    if listening.withLock({ exchange(&$0.leavesToTimer, with: false) && $0.isRepeated }) { noteOthers() }
  }

  /// Takes what others have added, below what is not written yet, and reports why it could not.
  func receive(
    reportingErrorsTo report: (any Error) -> Void, showing show: (NormalizedRecords.Received) -> Void
  ) {
    do { try receive(showing: show) } catch { report(error) }
  }

  /// Shows what others have added; calls watchers on a thread of its own: one that stalls keeps nothing from being read or
  /// written.
  func show(_ received: NormalizedRecords.Received) {
    if let deliver = onReceived.withLock({ $0 })?(received) { _ = ElasticScheduler().schedule(deliver) }
  }

  func receive(showing show: (NormalizedRecords.Received) -> Void) throws {
    var garbage: [any Sendable] = []
    let (received, error) = try state.withLockUnchecked { state -> (NormalizedRecords.Received?, (any Error)?) in
      // What is to be removed is not taken.
      guard state.isInUse, !state.mustRemove else { return (nil, nil) }
      return receive(try storage.read(after: state.position), &state, keeping: &garbage)
    }
    garbage = []
    if let received { show(received) }
    if let error { configuration.onStorageError(error) }
  }

  private func receive(
    _ tail: RecordTail, _ state: inout State, keeping garbage: inout [any Sendable]
  ) -> (NormalizedRecords.Received?, (any Error)?) {
    let damage = tail.lostBytes > 0 ? NormalizedStorageError.damaged(lostBytes: tail.lostBytes) : nil
    let isFirst = exchange(&state.isUnread, with: false)
    takeRemains(at: tail, &state)
    if state.mustRemove {
      (state.position, state.signOut) = (tail.last, tail.signOut)
      return (nil, nil)
    }
    if tail.last == state.position, tail.entries.isEmpty {
      if damage == nil || state.mustReplace { return (nil, nil) }
      state.mustReplace = true
      return (nil, damage)
    }
    if tail.last == nil, damage != nil {
      // Nothing can be read, and so nothing says that others have removed everything.
      (state.position, state.mustReplace, state.lacksChanges) = (nil, true, true)
      return (nil, damage)
    }
    let known = state.position
    // Who knew of no entry, since there was none, has what was requested before the account was signed out.
    let isSignedOut = known == nil && !isFirst && tail.signOut != state.signOut
    let isSameJournal = known.map { $0.journal == tail.last?.journal } ?? !isSignedOut
    let isNext = known == nil || tail.entries.first?.position == known?.next
    // What the storage has in the place of what it has lost: the rest is as it was read.
    var isRewound = false
    if let known, let first = tail.entries.first { isRewound = first.position.number <= known.number }
    let replacing = isSameJournal && isRewound ? state.history.rest(of: tail.entries) : nil
    let (new, now) = (replacing ?? tail.entries, configuration.clock.now)
    let entries = new.map { $0.bytes[...] }
    let result = records.change(keeping: &garbage) { records -> (NormalizedRecords.Received, UnreadableRecords?)? in
      // What has changed since the last write comes after what was read.
      takeChanges(of: &records, &state)
      if state.mustRemove { return nil }
      // What began before a removal of everything goes with that.
      if !isSameJournal {
        state.dropChanges()
        return records.receiveOther(entries, now: now)
      }
      for entry in new { state.noteOwn(entry) }
      return records.receive(
        entries, areAll: !isNext && replacing == nil, isWhole: new.contains(where: \.isWhole),
        then: state.unwritten[...], now: now)
    }
    guard let (received, failure) = result else { return (nil, nil) }
    state.attempts = []
    state.position = tail.last
    // That there is nothing says nothing of sign-outs.
    if known == nil || !isSameJournal, tail.last != nil { state.signOut = tail.signOut }
    for entry in tail.entries { state.note(entry) }
    if failure?.hasOtherKeys == true, !isFirst {
      end(&state)
      return (received, NormalizedStorageError.otherKeys)
    }
    let sizes = tail.entries.map(\.bytes.count)
    // An entry with all that there is has replaced those before.
    let whole = tail.entries.lastIndex(where: \.isWhole)
    state.size = (isNext && whole == nil ? state.size : 0) + sizes[(whole ?? 0)...].reduce(0, +)
    if whole != nil || !isNext || known == nil { state.firstSize = sizes.dropFirst(whole ?? 0).first ?? 0 }
    if failure != nil {
      // What this process has takes the place of what nobody can read.
      (state.mustReplace, state.lacksChanges) = (true, true)
      return (received, NormalizedStorageError.damaged(lostBytes: tail.lostBytes + sizes.reduce(0, +)))
    }
    if replacing != nil { state.lacksChanges = true }
    state.mustReplace = tail.last == nil || state.lacksChanges || damage != nil
    return (received, damage)
  }
}
