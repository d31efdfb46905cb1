extension Observable {
  /// The elements as an asynchronous sequence that loses none, as ``values(bufferingPolicy:)`` with `.unbounded`.
  ///
  ///     for try await element in stream.values { … }
  ///
  /// The memory that it takes has no bound: elements wait until the loop takes them. If the source may be faster than
  /// the loop for long, name a bound.
  public var values: AsyncValues<Element> { values(bufferingPolicy: .unbounded) }

  /// The elements as an asynchronous sequence. Each iteration is a subscription of its own.
  ///
  /// Elements are buffered by `bufferingPolicy`, since a source that pushes cannot be held back otherwise. Leaving the
  /// loop, or cancelling its task, disposes the subscription. If the stream fails, the loop throws its error. Elements
  /// that a source sends synchronously, while it is being subscribed to, are buffered before the loop begins, and
  /// cancelling has no effect until then.
  public func values(bufferingPolicy: BufferingPolicy) -> AsyncValues<Element> {
    AsyncValues(source: self, policy: bufferingPolicy)
  }
}
