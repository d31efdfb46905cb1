/// What receives events: ``AnyObserver``, and the subjects.
public protocol ObserverType<Element>: Sendable {
  /// What is sent.
  associatedtype Element: Sendable

  /// Sends an element.
  func onNext(_ element: Element)

  /// Ends the stream with an error.
  func onError(_ error: any Error)

  /// Ends the stream.
  func onCompleted()
}

extension ObserverType {
  /// Sends an event.
  @inlinable
  public func on(_ event: Event<Element>) {
    switch event {
    case .next(let element): onNext(element)
    case .error(let error): onError(error)
    case .completed: onCompleted()
    }
  }

  /// Only the sending side.
  @inlinable public func asObserver() -> AnyObserver<Element> { AnyObserver { self.on($0) } }
}
