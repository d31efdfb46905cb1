public import Streams

/// A transport that can be shut down, and lets those who keep a connection for longer than a request end it first.
///
/// Subscriptions use it: a shutdown tells their servers that they are over. A transport that does not conform to it cuts
/// them off.
public protocol ShutdownNotifying: Sendable {
  /// Calls a closure once when a shutdown begins, on a thread of the transport's. New requests are refused by then;
  /// connections are open until the closure has called `done`, for a second at most, and no longer than the shutdown may
  /// take. The closure must not wait.
  ///
  /// It is not called if a shutdown has begun before, or once what this returns is disposed.
  func onShutdown(_ body: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void) -> any Disposable
}

/// The cause of an error of a transport that was shut down: another attempt on it would fail, too.
public struct TransportShutdown: Error, Hashable, CustomStringConvertible {
  /// One line for people.
  public var description: String { "The transport was shut down." }

  /// Makes the cause.
  public init() {}
}
