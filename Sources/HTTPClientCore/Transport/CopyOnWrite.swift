/// A value behind a reference, so that what contains it is quickly copied. A change copies the value first if another
/// `CopyOnWrite` shares it.
@usableFromInline
struct CopyOnWrite<Value: Sendable>: Sendable {
  /// `@unchecked Sendable`: the value changes only while a single `CopyOnWrite` refers to it.
  @usableFromInline
  final class Storage: @unchecked Sendable {
    /// Without the runtime's checks of exclusive access: it changes only through the single variable that refers to it,
    /// whose own access is exclusive.
    @usableFromInline @exclusivity(unchecked) var value: Value

    @usableFromInline init(_ value: Value) { self.value = value }
  }

  @usableFromInline var storage: Storage

  init(_ value: Value) { storage = Storage(value) }

  @inlinable var value: Value {
    _read { yield storage.value }
    _modify {
      if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
      yield &storage.value
    }
  }
}
