public import SystemBase

/// The handle to send by on an open WebSocket connection.
///
/// All methods can be called on any thread, also while the observer is called; none of them waits. Calls on one thread
/// are sent in their order.
///
/// To script connections in tests, make one with a closure that keeps the commands:
///
///     let connection = WebSocketConnection { command in commands.append(command) }
public struct WebSocketConnection: Sendable {
  /// What a connection is to do.
  public enum Command: Hashable, Sendable {
    /// Send a message.
    case send(WebSocketMessage)
    /// Send a ping with at most 125 bytes.
    case ping(Data)
    /// Begin to close; the code may be sent, and the reason has at most 123 bytes.
    case close(WebSocketClosure)
  }

  /// The subprotocol that the server selected: one of those that were offered, `nil` if none were.
  public let subprotocol: String?

  /// The response to the upgrade, with status 101.
  public let head: HTTPResponseHead

  private let perform: @Sendable (Command) throws(RequestError) -> Void

  /// Makes a handle whose commands, once they have been checked, go to a closure. It may be called by several threads
  /// at once, and must not wait.
  public init(
    subprotocol: String? = nil, head: HTTPResponseHead = HTTPResponseHead(status: 101),
    perform: @escaping @Sendable (Command) throws(RequestError) -> Void
  ) {
    self.subprotocol = subprotocol
    self.head = head
    self.perform = perform
  }

  /// Sends a message, or queues it for as long as the socket has no room.
  ///
  /// Throws `overloaded` if the peer does not keep up, so that more than ``WebSocketLimits/unsent`` would be queued, and
  /// `connectionLost` if the connection is closed or closing; then nothing of the message is sent. In a process that was
  /// forked from the connection's own, this and all other methods throw `forkedProcess`.
  public func send(_ message: WebSocketMessage) throws(RequestError) {
    try perform(.send(message))
  }

  /// Sends a text; see ``send(_:)-(WebSocketMessage)``.
  public func send(_ text: String) throws(RequestError) {
    try send(.text(text))
  }

  /// Sends a ping; the pong comes as an event. Throws as ``send(_:)-(WebSocketMessage)`` does, and `invalidRequest` if
  /// there are more than 125 bytes (RFC 6455, section 5.5).
  public func ping(_ payload: Data = Data()) throws(RequestError) {
    guard payload.count <= 125 else {
      throw RequestError(.invalidRequest, "A ping carries at most 125 bytes, not \(payload.count).")
    }
    try perform(.ping(payload))
  }

  /// Begins to close, after what is queued: nothing can be sent any more, messages still arrive, and `closed` comes when
  /// the server has answered, or has not within ``WebSocketTimeouts/close``. Does nothing if the connection is closed or
  /// closing.
  ///
  /// Throws `invalidRequest` if the code may not be sent, see ``WebSocketCloseCode/isSendable``, or if the reason has
  /// more than 123 bytes.
  public func close(code: WebSocketCloseCode = .normal, reason: String = "") throws(RequestError) {
    guard code.isSendable else {
      throw RequestError(
        .invalidRequest, "The close code \(code) may not be sent: use 1000 to 1003, 1007 to 1014, or 3000 to 4999.")
    }
    guard reason.utf8.count <= 123 else {
      throw RequestError(
        .invalidRequest, "The reason of a close has at most 123 bytes in UTF-8, not \(reason.utf8.count).")
    }
    try perform(.close(WebSocketClosure(code: code, reason: reason)))
  }
}
