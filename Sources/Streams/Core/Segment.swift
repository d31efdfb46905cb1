/// The lifetime of a segment above another one: that of a source or an attempt that an operator subscribes to.
///
/// It ends during the end of the segment below, or when that is disposed. In both cases its teardowns run first, as
/// they were added last. Its terminal handler is an operator's and not the user's, so `dispose()` need not wait for it.
@usableFromInline
class Segment: Lifetime, @unchecked Sendable {
  @inlinable override init() {}

  @usableFromInline final override func dispose() { close() }
}
