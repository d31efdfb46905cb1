public import HTTPClientCore

/// What a subscription sees, in order: values, and what became of its connection.
///
/// A connection that is lost is made again. GraphQL servers do not keep what happens meanwhile, so it is missing:
/// `reconnected`, and not a value, is then the first thing that comes, and is the time to fetch what the values are
/// about.
public enum LiveEvent<Value: Sendable>: Sendable {
  /// The server has the subscription for the first time. Nothing that happened before belongs to it.
  case connected

  /// The server sent a value.
  case value(Value)

  /// The server could not make the value of a single event; others follow. Only with the error policy `all`.
  case failed(RequestError)

  /// There is no connection; another attempt follows after the delay. It comes once for each attempt that fails.
  case disconnected(RequestError, retryAfter: Duration)

  /// There is a connection again. What happened since the last value may have been missed.
  case reconnected

  /// There is a connection again, and its request names the last event by `Last-Event-ID`, so that the server sends what
  /// came since: see ``LiveSettings/serverReplays``.
  case resumed

  /// So many values were dropped before the next event, because the observer was too slow; see ``LiveBuffering``.
  case dropped(Int)
}

extension LiveEvent {
  /// The value; `nil` for other events.
  public var value: Value? {
    if case .value(let value) = self { value } else { nil }
  }

  /// Whether values may be missing before whatever comes next.
  public var isGap: Bool {
    switch self {
    case .reconnected, .dropped: true
    case .connected, .value, .failed, .disconnected, .resumed: false
    }
  }

  /// The event with its value transformed.
  public func map<Other>(_ transform: (Value) throws -> Other) rethrows -> LiveEvent<Other> {
    switch self {
    case .connected: .connected
    case .value(let value): .value(try transform(value))
    case .failed(let error): .failed(error)
    case .disconnected(let error, let delay): .disconnected(error, retryAfter: delay)
    case .reconnected: .reconnected
    case .resumed: .resumed
    case .dropped(let count): .dropped(count)
    }
  }
}

extension LiveEvent: Equatable where Value: Equatable {}

extension LiveEvent: Hashable where Value: Hashable {}
