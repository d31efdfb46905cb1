/// The lower end of a subscription: it owns the lifetime and has the handlers.
@usableFromInline
final class Subscriber<Element: Sendable>: Sendable {
  @usableFromInline let onNext: (@Sendable (Element) -> Void)?
  @usableFromInline let onError: (@Sendable (any Error) -> Void)?
  @usableFromInline let onCompleted: (@Sendable () -> Void)?
  @usableFromInline let lifetime: Lifetime

  @inlinable init(
    onNext: (@Sendable (Element) -> Void)?,
    onError: (@Sendable (any Error) -> Void)?,
    onCompleted: (@Sendable () -> Void)?,
    lifetime: Lifetime
  ) {
    self.onNext = onNext
    self.onError = onError
    self.onCompleted = onCompleted
    self.lifetime = lifetime
  }

  /// The source has checked already, but an operator's closure may have disposed the subscription since.
  @inlinable func next(_ element: Element) {
    if !lifetime.isClosed { onNext?(element) }
  }

  @inlinable func end(_ error: (any Error)?) {
    guard lifetime.claim() else { return }
    if let error {
      if let onError { onError(error) } else { Hooks.defaultErrorHandler(error) }
    } else {
      onCompleted?()
    }
    lifetime.close()
  }
}
