extension Observable {
  /// One subscription to the source for all subscribers, who get the last `replay` elements first.
  ///
  ///     source      ──1──2──3──4──
  ///     first ▲     ──1──2──3──4──
  ///     second           ▲──3──4──
  ///
  /// The first subscriber connects, the last one that leaves disconnects, and after that, or after the end, the next one
  /// connects anew and finds nothing to replay: RxSwift's `.whileConnected`.
  public func share(replay: Int = 0) -> Observable<Element> {
    let share = Share(source: self, replay: max(0, replay))
    return Observable { share.subscribe($0) }
  }
}
