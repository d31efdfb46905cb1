import SystemBase

/// What other processes have changed, which share the records' storage.
extension NormalizedRecords {
  /// What others have changed, as far as it is to be shown.
  struct Received: Sendable {
    /// Whether they have removed everything: what is there then is shown by itself.
    var isRemoval = false
    var changes: [RecordChange] = []
    /// The fields that the server has refused them.
    var refused: [RecordChange] = []
    /// The operations of which there is another response, or that are out of date.
    var refreshed: [NormalizedKey] = []
    var invalidated: [NormalizedKey] = []
  }

  /// Takes what others have written, as what the server has said just now: older requests that are in progress settle
  /// below it. Nothing that follows what cannot be read is taken.
  /// - Parameters:
  ///   - areAll: Whether the entries are all that there is, since some are lost that came between.
  ///   - isWhole: Whether one of them has all that there was, most of it once more.
  ///   - own: What this process writes after it.
  mutating func receive(
    _ entries: [ArraySlice<UInt8>], areAll: Bool, isWhole: Bool, then own: ArraySlice<UInt8>, now: StoreTime
  ) -> (Received, UnreadableRecords?) {
    if areAll, let failure = failure(toRead: entries) { return (Received(), failure) }
    let change = begin()
    let level = level(of: change)
    var (notes, known, receipt) = (RecordNotes(), RecordNotes(), RecordReceipt(layer: level, now: now))
    if areAll { receipt.changes += cache.removeAll(in: level) }
    defer { reads.tellDates(of: receipt.dated, in: cache) }
    var (received, failure) = (Received(), UnreadableRecords?.none)
    do throws(UnreadableRecords) {
      for entry in entries { try cache.receive(entry, &notes, &receipt) }
    } catch { failure = error }
    do throws(UnreadableRecords) { try cache.receive(own, &known, &receipt) } catch { failure = failure ?? error }
    // What others have only written again is no newer than what was requested since it was written first.
    if isWhole { cache.dropRepetitions(in: level) }
    received.changes = finish(receipt, by: change, in: level)
    received.refused = notes.refused
    log?.restoreRefusal(of: notes.refused, in: cache)
    if let beginning = notes.beginning, beginning < emptyAt { (emptyAt, cache.dates.earliest) = (beginning, beginning) }
    // What it says of operations is known here already.
    let ownDigests = Set(known.operations.map(\.digest))
    notes.operations.removeAll { ownDigests.contains($0.digest) }
    take(notes, &received)
    return (received, failure)
  }

  /// Why entries that are all that there is cannot be read; then what is here stays.
  private func failure(toRead entries: [ArraySlice<UInt8>]) -> UnreadableRecords? {
    var cache = RecordCache(cache.schema, RecordDates(cache.dates.staleTimes))
    do throws(UnreadableRecords) { for entry in entries { _ = try cache.decode(entry) } } catch { return error }
    return nil
  }

  @discardableResult
  private mutating func finish(
    _ receipt: RecordReceipt, by change: Change, in level: UInt64?
  ) -> [RecordChange] {
    noteTouched(in: level, isLogged: false, isOrdered: false)
    noteUnread(receipt.changes)
    noteAnswer(change)
    return receipt.changes + end(change)
  }

  private mutating func take(_ notes: RecordNotes, _ received: inout Received) {
    if notes.operations.isEmpty { return }
    // The last of several counts.
    let latest = notes.operations.reduce(into: [:]) { $0[$1.digest] = $1 }
    for operation in latest.values where log?.restore(operation) == true {
      var keys = reads.keys(of: operation.digest) { [log] in log?.digest(of: $0.operation) }
      if let noted = log?.key(operation.digest), !keys.contains(noted) { keys.append(noted) }
      for key in keys {
        var known = known(of: key)
        known.writtenAt = operation.writtenAt
        known.invalidatedAt = operation.isInvalidated ? known.invalidatedAt ?? next() : nil
        _ = freshness.write(known, for: key.operation, cost: 1)
        if operation.isInvalidated { received.invalidated.append(key) } else { received.refreshed.append(key) }
      }
    }
  }

  /// Takes what others have written after they, or somebody else, had removed everything; of what cannot be read, what
  /// comes before it.
  mutating func receiveOther(_ entries: [ArraySlice<UInt8>], now: StoreTime) -> (Received, UnreadableRecords?) {
    log?.forget()
    removeAll(now)
    defer { reads.readAll(of: &cache, epoch) }
    var failure: UnreadableRecords?
    do throws(UnreadableRecords) {
      for entry in entries {
        let notes = try cache.decode(entry)
        emptyAt = notes.beginning ?? emptyAt
        for operation in notes.operations { log?.restore(operation) }
        log?.restoreRefusal(of: notes.refused, in: cache)
      }
    } catch { failure = error }
    cache.dates.earliest = emptyAt
    return (Received(isRemoval: true), failure)
  }
}
