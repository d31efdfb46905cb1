/// The cause of an error, of the kind `timedOut` or `connectionLost` for instance, if it is certain that no byte of the
/// request has left this machine, or ever will; see ``RequestError/isCertainlyUnsent``.
public struct NothingWasSent: Error {
  /// Makes the cause, for a transport that knows.
  public init() {}
}
