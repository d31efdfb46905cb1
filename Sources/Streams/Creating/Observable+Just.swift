extension Observable {
  /// One element, then completion.
  ///
  ///     just(a)   a|
  @inlinable
  public static func just(_ element: Element) -> Observable<Element> {
    Observable { sink in
      if sink.lifetime.isClosed { return }
      sink.next(element)
      sink.endIfOpen()
    }
  }

  /// The elements of `sequence`, then completion. Each subscriber iterates anew, until it is disposed.
  ///
  ///     from([a, b, c])   abc|
  @inlinable
  public static func from(_ sequence: some Sequence<Element> & Sendable) -> Observable<Element> {
    Observable { sink in
      for element in sequence {
        if sink.lifetime.isClosed { return }
        sink.next(element)
      }
      sink.endIfOpen()
    }
  }

  /// Completion alone.
  ///
  ///     empty()   |
  @inlinable public static func empty() -> Observable<Element> { Observable { $0.endIfOpen() } }

  /// An error alone.
  ///
  ///     error(e)   x
  @inlinable public static func error(_ error: any Error) -> Observable<Element> { Observable { $0.endIfOpen(error) } }

  /// Nothing, for ever.
  ///
  ///     never()   ─────
  @inlinable public static func never() -> Observable<Element> { Observable { _ in } }
}
