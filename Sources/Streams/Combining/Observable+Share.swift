extension Observable {
  /// Shares one subscription to the source among all subscribers; each gets the last `replay` elements first.
  ///
  ///     source      ──1──2──3──4──
  ///     first ▲     ──1──2──3──4──
  ///     second           ▲──3──4──
  ///
  /// The first subscriber connects, and the last one to leave disconnects. After that, or after the end, the next
  /// subscriber connects anew, with nothing to replay: RxSwift's `.whileConnected`.
  public func share(replay: Int = 0) -> Observable<Element> {
    let share = Share(source: self, replay: max(0, replay))
    return Observable { share.subscribe($0) }
  }
}
