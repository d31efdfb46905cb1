/// What an ``Outbox`` has kept and cannot read any more, as after a change of the mutations' type, or damage to the disk.
/// It stays where it is, is not sent, and holds up nothing.
public struct UnreadableOutboxEntry: Hashable, Encodable, Sendable, Identifiable {
  /// Identifies the entry; ``Outbox/discard(id:)`` takes it out.
  public let id: String

  /// When it was put in.
  public let addedAt: StoreTime

  init(_ name: OutboxFileName) {
    id = name.id
    addedAt = name.addedAt
  }
}
