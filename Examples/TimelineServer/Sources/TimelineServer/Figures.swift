import SocketHTTP
import Stores
import Streams

/// What the server does at a moment, for all users together.
struct Figures: Codable, Equatable, Sendable {
  /// Reads of a timeline that found one in memory, and those that found none.
  let hits, misses: Int
  /// Timelines that are subscribed to at the backend, and the browsers that follow them.
  let subscriptions, browsers: Int
  /// Connections to the backend, and those of them that carry a request or a subscription.
  let connections, busyConnections: Int
}

extension Figures {
  /// The figures of timelines whose client has this transport.
  init(_ timelines: Timelines, _ transport: SocketTransport) {
    let (reads, followed, connections) = (timelines.reads, timelines.followed, transport.statistics().total)
    self.init(
      hits: reads.hits, misses: reads.misses, subscriptions: followed.streams, browsers: followed.followers,
      connections: connections.connections, busyConnections: connections.busy + connections.streams)
  }
}

extension Observable {
  /// What `look` returns at once and after each interval, as long as somebody is subscribed.
  static func every(
    _ interval: Duration, by scheduler: any Scheduler = ConcurrentScheduler(), _ look: @escaping @Sendable () -> Element
  ) -> Observable {
    let now = Observable.deferred { .just(look()) }
    let pause = Observable.empty().delay(interval, scheduler: scheduler)
    return .concat(now, pause, .deferred { every(interval, by: scheduler, look) })
  }
}
