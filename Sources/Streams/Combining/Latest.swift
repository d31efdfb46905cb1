public import Synchronization

/// The current inner stream of `flatMapLatest`. `@unchecked Sendable`: `segment` is touched only in the source's
/// events.
@usableFromInline
final class Latest: @unchecked Sendable {
  @usableFromInline let number = Atomic<Int>(0)
  @usableFromInline var segment: Segment?

  @inlinable init() {}
}
