import SystemBase

extension Observable {
  /// Shares one subscription to the source among all subscribers; each gets the last `replay` elements first.
  ///
  ///     source      ──1──2──3──4──
  ///     first ▲     ──1──2──3──4──
  ///     second           ▲──3──4──
  ///
  /// The first subscriber connects, and the last one to leave disconnects. After that, or after the end, the next
  /// subscriber connects again, with nothing to replay: RxSwift's `.whileConnected`.
  ///
  /// The source starts while the first subscriber subscribes. So what it sends at once, such as the value of a
  /// `BehaviorSubject`, reaches the first subscriber alone, and those who subscribe after it only by `replay`, while the
  /// connection lasts. If all of several subscribers need it, share with `replay: 1`.
  ///
  /// If the source is a subject that goes away without an end, the subscriptions are disposed, as its own are.
  public func share(replay: Int = 0) -> Observable<Element> {
    let share = Share(source: self, replay: max(0, replay))
    return Observable { share.subscribe($0) }
  }
}

/// The state that all subscribers of `share(replay:)` share: the source, and its current connection.
final class Share<Element: Sendable>: Sendable {
  private let source: Observable<Element>
  private let replay: Int
  private let current = Locked<Connection?>(nil)

  init(source: Observable<Element>, replay: Int) {
    self.source = source
    self.replay = replay
  }

  func subscribe(_ sink: Sink<Element>) {
    let (connection, isFirst) = current.withLock { current in
      // A source that has ended, or is gone without an end, sends nothing to those who join.
      let open = current.flatMap { $0.segment.isClosed ? nil : $0 }
      let connection = open ?? Connection(replay)
      current = connection
      connection.count += 1
      return (connection, open == nil)
    }
    // Keeps not the source: a subject that only its own subscriptions keep is gone.
    sink.lifetime.add(ClosureNode { [current] in Self.leave(connection, current) })
    connection.hub.subscribe(sink)
    if isFirst {
      // Where the source is gone without an end, the subscriptions are disposed.
      connection.segment.add(ClosureNode { [hub = connection.hub] in hub.close() })
      source.start(connection.segment, next: { connection.hub.next($0) }, end: { connection.hub.end($0) })
    }
  }

  private static func leave(_ connection: Connection, _ current: Locked<Connection?>) {
    let isLast = current.withLock { current in
      connection.count -= 1
      if connection.count == 0 && current === connection { current = nil }
      return connection.count == 0
    }
    if isLast { connection.segment.dispose() }
  }

  /// One run of the source. `@unchecked Sendable`: `count` is touched only under the lock of `current`.
  final class Connection: @unchecked Sendable {
    let hub: Hub<Element>
    let segment = Segment()
    var count = 0

    init(_ replay: Int) { hub = Hub(capacity: replay) }
  }
}
