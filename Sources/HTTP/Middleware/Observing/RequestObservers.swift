/// Combines several observers; they are called in order.
public struct RequestObservers: RequestObserver {
  private let observers: [any RequestObserver]

  /// Takes the observers.
  public init(_ observers: [any RequestObserver]) {
    self.observers = observers
  }

  /// Calls `begin` of all observers, and passes each event to all of them.
  public func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    var listeners: [@Sendable (RequestEvent) -> Void] = []
    for observer in observers { listeners.append(observer.begin(&request)) }
    return { [listeners] event in for listener in listeners { listener(event) } }
  }
}
