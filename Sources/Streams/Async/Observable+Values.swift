extension Observable {
  /// The elements as an asynchronous sequence, each iteration a subscription of its own.
  ///
  /// It buffers by the policy that is named, for want of another way to hold back a source that pushes. Leaving the loop,
  /// or cancelling its task, disposes the subscription. The stream's error is thrown. What a source says while it is
  /// subscribed to is buffered before the loop begins, and cannot be cancelled until then.
  public func values(bufferingPolicy: BufferingPolicy) -> AsyncValues<Element> {
    AsyncValues(source: self, policy: bufferingPolicy)
  }
}
