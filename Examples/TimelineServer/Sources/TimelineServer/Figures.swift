import SocketHTTP
import Streams

/// What the server does at a moment, for all users together.
struct Figures: Codable, Hashable, Sendable {
  /// Reads of a timeline that a store had, and those for which it asked the backend.
  let hits, misses: Int
  /// Timelines that are followed at the backend, and the browsers that follow them.
  let subscriptions, browsers: Int
  /// Connections to the backend, and those of them that carry a request or a subscription.
  let connections, busyConnections: Int
}

extension Observable where Element == Figures {
  /// The figures now, and every second in which they change. All who follow them share the looking.
  static func every(_ interval: Duration, _ look: @escaping @Sendable () -> Figures) -> Observable<Figures> {
    let scheduler = ConcurrentScheduler()
    let tick = Observable<Void>.just(()).delay(interval, scheduler: scheduler)
    let ticks = tick.expand { _ in tick }.startWith(())
    return ticks.map { _ in look() }.distinctUntilChanged().share(replay: 1)
  }
}
