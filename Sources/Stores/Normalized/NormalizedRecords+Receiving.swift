import SystemBase

/// What other processes have changed, which share the records' storage.
extension NormalizedRecords {
  /// What others have changed, as far as it is to be shown.
  struct Received: Sendable {
    /// Whether they have removed everything: what is there then is shown by itself.
    var isRemoval = false
    var changes: [RecordChange] = []
    /// The operations of which there is another response, or that are out of date.
    var refreshed: [NormalizedKey] = []
    var invalidated: [NormalizedKey] = []
  }

  /// Takes what others have written, as what the server has said just now: older requests that are in progress settle
  /// below it.
  /// - Parameters:
  ///   - areAll: Whether the entries are all that there is, since some are lost that came between.
  ///   - own: What this process writes after it.
  mutating func receive(
    _ entries: [ArraySlice<UInt8>], areAll: Bool, then own: ArraySlice<UInt8>
  ) throws(UnreadableRecords) -> Received {
    let change = begin()
    let level = level(of: change)
    var (notes, receipt) = (RecordNotes(), RecordReceipt(layer: level))
    if areAll { receipt.changes += cache.removeAll(in: level) }
    defer { reads.tellDates(of: receipt.dated, in: cache) }
    var received = Received()
    do throws(UnreadableRecords) {
      for entry in entries { try cache.receive(entry, &notes, &receipt) }
      // What it says of operations is known here already.
      var known = RecordNotes()
      try cache.receive(own, &known, &receipt)
    } catch {
      finish(receipt, by: change, in: level)
      throw error
    }
    received.changes = finish(receipt, by: change, in: level)
    if let beginning = notes.beginning, beginning < emptyAt { (emptyAt, cache.dates.earliest) = (beginning, beginning) }
    take(notes, &received)
    return received
  }

  @discardableResult
  private mutating func finish(
    _ receipt: RecordReceipt, by change: Change, in level: UInt64?
  ) -> [RecordChange] {
    noteTouched(in: level, isLogged: false)
    noteUnread(receipt.changes)
    noteAnswer(change)
    return receipt.changes + end(change)
  }

  private mutating func take(_ notes: RecordNotes, _ received: inout Received) {
    if notes.operations.isEmpty { return }
    var found: [UInt128: [NormalizedKey]] = [:]
    for operation in notes.operations {
      log?.restore(operation)
      found[operation.digest] = log?.key(operation.digest).map { [$0] } ?? []
    }
    for (digest, key) in reads.digests(by: { [log] in log?.digest(of: $0.operation) }) {
      if found[digest]?.contains(key) == false { found[digest]?.append(key) }
    }
    for operation in notes.operations {
      for key in found[operation.digest] ?? [] {
        var known = known(of: key)
        known.writtenAt = operation.writtenAt
        known.invalidatedAt = operation.isInvalidated ? known.invalidatedAt ?? next() : nil
        _ = freshness.write(known, for: key.operation, cost: 1)
        if operation.isInvalidated { received.invalidated.append(key) } else { received.refreshed.append(key) }
      }
    }
  }

  /// Takes what others have written after they, or somebody else, had removed everything.
  mutating func receiveOther(_ entries: [ArraySlice<UInt8>], now: StoreTime) throws(UnreadableRecords) -> Received {
    log?.forget()
    removeAll(now)
    defer { reads.readAll(of: &cache, epoch) }
    for entry in entries {
      let notes = try cache.decode(entry)
      emptyAt = notes.beginning ?? emptyAt
      for operation in notes.operations { log?.restore(operation) }
    }
    cache.dates.earliest = emptyAt
    return Received(isRemoval: true)
  }
}
