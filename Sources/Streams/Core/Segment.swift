/// The lifetime of a segment above another one: of a source or an attempt that an operator subscribes to.
///
/// It ends inside the end of the segment below, or when that is disposed; either way its teardowns come first, as they came
/// last, and its own terminal handler is no user's, so it need not be waited for.
@usableFromInline
final class Segment: Lifetime, @unchecked Sendable {
  @inlinable override init() {}

  @usableFromInline override func dispose() { close() }
}
