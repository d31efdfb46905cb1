extension Observable {
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
