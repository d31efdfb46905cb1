import Synchronization
import SystemBase

/// When the server said what fields have, of those alone that become stale by times of their own; and those times.
struct RecordDates: Sendable {
  /// How long fields may be used: those of a type by its name, one by its coordinates, such as `Issue.state`.
  let staleTimes: [String: Duration]
  /// The date of a field of which nothing is known.
  var earliest = StoreTime(microseconds: 0)
  private var dates: [UInt32: [UInt32: StoreTime]] = [:]

  init(_ staleTimes: [String: Duration] = [:]) { self.staleTimes = staleTimes }

  /// How long a field may be used; `nil` for a field without a time of its own. The key of an object and `__typename` do not
  /// become stale with its type.
  func staleTime(of field: String, in type: String, isKey: Bool) -> Duration? {
    staleTimes["\(type).\(field)"] ?? (isKey || field == "__typename" ? nil : staleTimes[type])
  }

  /// The dates of an entity's fields.
  func dates(of entity: UInt32) -> [UInt32: StoreTime] { dates[entity] ?? [:] }

  subscript(entity: UInt32, field: UInt32) -> StoreTime? {
    get { dates[entity]?[field] }
    set { dates[entity, default: [:]][field] = newValue }
  }

  /// Forgets an entity, whose number may become that of another.
  mutating func forget(_ entity: UInt32) {
    if !dates.isEmpty { dates[entity] = nil }
  }

  /// Forgets fields whose numbers may become those of others.
  mutating func forgetFields(where isForgotten: (UInt32) -> Bool) {
    for entity in dates.keys { dates[entity] = dates[entity]?.filter { !isForgotten($0.key) } }
  }

  /// Says when what a read looked at becomes stale.
  func tell(_ date: StaleDate, of fields: [DatedField]) {
    var (staleAt, newest) = (Int64.max, Int64.min)
    for field in fields {
      let written = self[field.entity, field.field] ?? earliest
      staleAt = min(staleAt, (written + field.staleTime).microseconds)
      newest = max(newest, written.microseconds)
    }
    date.set(staleAt: staleAt, newest: newest)
  }
}

/// A field that a read looked at, and how long it may be used.
struct DatedField: Sendable {
  let entity: UInt32
  let field: UInt32
  let staleTime: Duration
}

/// When a value becomes stale that was read from records. It moves when the server says again what it had said before.
@usableFromInline
final class StaleDate: Sendable {
  private let staleAt = Atomic(Int64.max)
  private let newest = Atomic(Int64.min)

  func set(staleAt: Int64, newest: Int64) {
    self.staleAt.store(staleAt, ordering: .relaxed)
    self.newest.store(newest, ordering: .relaxed)
  }

  /// A date in the future, as after the clock was set back, says nothing about the age.
  @usableFromInline
  func isPast(_ now: StoreTime) -> Bool {
    now.microseconds >= staleAt.load(ordering: .relaxed) || now.microseconds < newest.load(ordering: .relaxed)
  }
}

extension RecordCache {
  /// Notes which fields of an entity are dated, if there is no error in their place.
  func noteDated(
    _ entity: UInt32, _ typed: PreparedPlan.Typed, pendingFrom first: Int, _ plan: borrowing PreparedPlan,
    _ state: inout WriteState
  ) {
    for index in typed.staleTimes {
      let planned = plan.staleTimes[Int(index)].planned
      let isSaid = state.pending.elements(from: first).contains { $0.planned == planned && $0.slot.kind != .error }
      let field = plan.fields[Int(planned)]
      if isSaid { state.dated.append(RecordChange(entity: entity, field: field.field, place: field.place)) }
    }
  }

  /// Notes when the server has said what these fields have.
  mutating func date(_ fields: [RecordChange], _ date: StoreTime) {
    for field in fields { dates[field.entity, field.field] = date }
  }

  /// Appends the dates of some fields.
  func encodeDates(of changes: [RecordChange], into bytes: inout [UInt8]) {
    var (numbers, entity) = (RecordNumbers(), UInt32?.none)
    bytes.append(.section)
    for change in changes {
      guard let date = dates[change.entity, change.field] else { continue }
      if change.entity != entity {
        bytes.append(.entity)
        encode(entity: change.entity, &numbers, into: &bytes)
        entity = change.entity
      }
      encode(date, of: change.field, &numbers, into: &bytes)
    }
  }

  /// Appends the date of a field.
  func encode(_ date: StoreTime, of field: UInt32, _ numbers: inout RecordNumbers, into bytes: inout [UInt8]) {
    bytes.append(.date)
    encode(field: field, &numbers, into: &bytes)
    bytes.append(fixed: date.microseconds)
  }
}
