/// The progress of an exchange, in bytes of the bodies as they are transferred.
public struct HTTPProgress: Hashable, Sendable {
  /// How much of the request's body the system has accepted; it may still be on its way to the server.
  public var sent = 0

  /// The size of the request's body.
  public var totalToSend = 0

  /// How much of the response's body has arrived, before decompression.
  public var received = 0

  /// The size of the response's body before decompression, if the server has announced it.
  public var totalToReceive: Int?

  /// Makes a progress at which nothing has been transferred yet.
  public init(totalToSend: Int = 0) {
    self.totalToSend = totalToSend
  }
}
