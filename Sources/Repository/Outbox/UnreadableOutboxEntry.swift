/// An entry of an ``Outbox`` that can no longer be read, because the mutations' type has changed or the disk is
/// damaged. It stays where it is, is not sent, and delays no other.
public struct UnreadableOutboxEntry: Hashable, Encodable, Sendable, Identifiable {
  /// Identifies the entry; ``Outbox/discard(id:)`` removes it.
  public let id: String

  /// When it was added.
  public let addedAt: StoreTime

  /// Makes an entry, to test a view of an outbox with.
  public init(id: String, addedAt: StoreTime) {
    self.id = id
    self.addedAt = addedAt
  }

  init(_ name: OutboxFileName) {
    self.init(id: name.id, addedAt: name.addedAt)
  }
}
