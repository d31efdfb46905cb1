extension Observable {
  /// The elements as an asynchronous sequence, each iteration a subscription of its own.
  ///
  /// Elements are buffered by `bufferingPolicy`, since a source that pushes cannot be held back otherwise. Leaving the
  /// loop, or cancelling its task, disposes the subscription. The stream's error is thrown. What a source sends during
  /// the call to subscribe is buffered before the loop begins; it cannot be cancelled until then.
  public func values(bufferingPolicy: BufferingPolicy) -> AsyncValues<Element> {
    AsyncValues(source: self, policy: bufferingPolicy)
  }
}
