import SystemBase

/// What a journal could not be given, said once more without what has changed since: the latest of each field. So it is no
/// longer than what memory has.
struct UnwrittenRecords: Sendable {
  private var named: RecordCache
  private var fields: [RecordChange]
  private var notes = RecordNotes()
  private var receipt: RecordReceipt

  /// Takes what a journal was to be given; `nil` if it cannot be read.
  init?(_ bytes: [UInt8], _ schema: RecordSchema, _ staleTimes: [String: Duration], now: StoreTime) {
    named = RecordCache(schema, RecordDates(staleTimes))
    named.touched = []
    receipt = RecordReceipt(layer: nil, now: now)
    do throws(UnreadableRecords) { try named.receive(bytes[...], &notes, &receipt) } catch { return nil }
    fields = Set(named.touched ?? []).sorted { ($0.entity, $0.field) < ($1.entity, $1.field) }
  }

  /// Forgets what the records have given up since, but not what is to be removed.
  mutating func forget(missingIn records: NormalizedRecords) {
    fields = fields.filter { !isThere($0, in: named) || isKept($0, in: records.cache) }
    notes.operations = notes.operations.reduce(into: [:]) { $0[$1.digest] = $1 }.values
      .filter { records.log?.knows($0.digest) == true }
  }

  private func isThere(_ field: RecordChange, in cache: RecordCache) -> Bool {
    cache.answered(field.entity, field.field, at: field.place).kind != .missing
  }

  private func isKept(_ field: RecordChange, in cache: RecordCache) -> Bool {
    let key = String(decoding: named.key(of: field.entity), as: UTF8.self)
    guard let type = named.typeName(of: RecordID(number: field.entity)), let entity = cache.entity(type, id: key),
      let number = cache.fieldNumber(named.fieldKeys[Int(field.field)])
    else { return false }
    return isThere(cache.change(entity, number), in: cache)
  }

  /// The bytes for the journal.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    for operation in notes.operations { RecordLog.encode(operation, into: &bytes) }
    let cleared = receipt.cleared
    for entity in cleared.sorted() { named.encodeAll(of: entity, into: &bytes) }
    named.encode(fields.filter { !cleared.contains($0.entity) }, into: &bytes)
    named.encodeDates(of: receipt.dated.filter { !cleared.contains($0.entity) }, into: &bytes)
    named.encodeRefusal(of: notes.refused, into: &bytes)
    return bytes
  }
}
