import HTTPClientCore
import Streams
import SystemBase

/// What is said on a connection, in one version of HTTP: a state machine that turns exchanges into bytes, and bytes into
/// parts of responses. It does not touch the socket.
///
/// A connection calls it under its lock, one call at a time.
protocol HTTPConnection: AnyObject {
  /// The version of HTTP for observers, as in RFC 9110, section 2.5, without a needless minor number: `1.1` or `2`.
  var version: String { get }

  /// How many exchanges it carries at a time, at most, when it is opened; see ``ConnectionEvent/limit(_:)``, too.
  var limit: Int { get }

  /// How many exchanges it carries.
  var load: Int { get }

  /// Whether it has carried a whole exchange.
  var isUsed: Bool { get }

  /// Whether the server only responds, to one request after the other. Then what comes between two responses belongs to
  /// neither, and the connection is of no use any more.
  var isSequential: Bool { get }

  /// Whether the server has said that an exchange may be a CONNECT to another protocol (RFC 8441).
  var allowsConnectProtocol: Bool { get }

  // MARK: - Writing

  /// Begins an exchange. `whenReady` is called once there are more bytes of an upload that had none. It may have been given
  /// its place before a `limit` came that leaves none: then it is `lost`, and `didFlush` returns true.
  func begin(_ exchange: SocketExchange, whenReady: (@Sendable () -> Void)?)

  /// Ends one exchange of several, which was cancelled: no further event is about it. It may have ended meanwhile.
  func cancel(_ exchange: SocketExchange)

  /// Calls a closure with the next bytes to send, in two consecutive pieces either of which may be empty; `nil` if there
  /// are none at the moment.
  func withNext(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> WriteOutcome) -> WriteOutcome?

  /// Records that so many of the bytes were taken.
  func didWrite(_ count: Int)

  /// Records that all that was taken is sent. Returns whether an event follows from it.
  func didFlush() -> Bool

  /// Records that nothing more can be sent. Returns what follows from it: `dead`, or `read`.
  func didFailToWrite(_ error: RequestError) -> WritingOutcome

  // MARK: - Reading

  /// Takes bytes that have arrived; throws if the connection is of no use any more. If several exchanges share it, what there
  /// is to send by then goes out before it is closed.
  func receive(_ bytes: UnsafeRawBufferPointer) throws(RequestError)

  /// Records that the peer sends nothing more; throws if that cuts an exchange off.
  func receiveEnd(isAuthentic: Bool) throws(RequestError)

  /// Records that nothing more can be read. Returns what is complete all the same, if there is something: a response that is
  /// whole counts, whether or not the rest of its request was still sent.
  func didFailToRead(_ error: RequestError) -> ConnectionEvent?

  /// Records that the observer of an exchange has taken so many bytes of its body, so that the server may send more of
  /// them. Each byte of the event `parts` is recorded once, also after the exchange has ended and if its observer has gone;
  /// those of the last parts are not. Called only if several exchanges share the connection.
  func didDeliver(_ count: Int, of exchange: SocketExchange)

  /// Whether there may be an event that was not taken.
  var hasEvents: Bool { get }

  /// Removes and returns the next event; `isEmpty` says that nothing more has arrived, so that parts are not to be
  /// collected any longer. Throws if the connection is of no use any more.
  func next(isEmpty: Bool) throws(RequestError) -> ConnectionEvent?

  // MARK: - Time

  /// When ``wake(at:)`` is to be called, as far as is known now; `nil` if it need not be. Asked after each turn of writing
  /// and reading, if several exchanges share the connection.
  var wakeTime: Instant? { get }

  /// Does what was to be done by now, such as asking a silent server for a sign of life; there may be something to write, or
  /// an event, afterwards. Throws if the connection is of no use any more, as after a silence.
  func wake(at now: Instant) throws(RequestError)

  /// Tells the peer that the connection ends, if the protocol has a message for that; what there is to send by then goes out.
  func end()

  /// Ends all exchanges, and returns what is known about them, also about those whose loss was not taken. Nothing else is
  /// called afterwards.
  func close() -> [ExchangeLoss]
}

extension HTTPConnection {
  var allowsConnectProtocol: Bool { false }
  var hasEvents: Bool { false }
}

/// What has come of what a connection has received.
enum ConnectionEvent: Sendable {
  /// Parts of a response. If the connection is sequential, reading pauses until the observer has taken them. Otherwise
  /// they wait in memory, however much comes: the protocol has to limit what a server may send before they are taken, see
  /// ``HTTPConnection/didDeliver(_:of:)``.
  case parts([HTTPResponsePart], SocketExchange)
  /// The end of a response, which the observer gets behind all parts.
  case completed(ExchangeCompletion)
  /// The server has ended an exchange, and the connection lives on. If nothing of the request was processed, it is sent
  /// again: at once if the connection takes no more, for which `limit(0)` has to come before, or if it is the first time.
  indirect case lost(ExchangeLoss, RequestError)
  /// The end of the response of an exchange in another protocol, which may have more to send.
  case ended(SocketExchange)
  /// How many exchanges the connection carries at a time from now on, at most: with 0 it takes no more, and ends with
  /// those that it has.
  case limit(Int)
}

/// An exchange whose response has arrived.
struct ExchangeCompletion: Sendable {
  let exchange: SocketExchange
  /// The last parts of the response.
  let parts: [HTTPResponsePart]
  /// When its request began to be sent.
  let start: Instant
  /// Whether another exchange may follow, as far as the response and the request are concerned. If not, a connection that
  /// carries others ends with these.
  let mayReuse: Bool
  /// How many seconds the server keeps the connection, if it says so.
  let keepAlive: Int?
}

/// What is known about an exchange that has lost its connection, or its place on it.
struct ExchangeLoss: Sendable {
  let exchange: SocketExchange
  /// The parts that arrived before, and were not delivered.
  var parts: [HTTPResponsePart] = []
  /// What became of the request: `never` unless any of it may have been processed.
  var reached = RequestError.Reach.never
  /// Whether any of the response has arrived.
  var hasReceived = false
  /// Whether the server has said that it has not processed the request, and will not on this connection.
  var isRefused = false
  /// Whether the server demands HTTP/1.1 for it (RFC 9113, section 7, `HTTP_1_1_REQUIRED`), and so for all of its origin.
  var requiresHTTP1 = false
  /// Whether the server has closed the connection to it because of an error, or of too much to do (RFC 9113, section 7).
  var isExpelled = false
}

/// The outcome of writing.
enum WritingOutcome: Sendable {
  /// All that there is at the moment is sent; the loop reads what comes.
  case sent
  /// The socket is full; the loop has to flush.
  case blocked
  /// There is more than is written in one turn; the loop has to flush.
  case more
  /// Nothing was sent; the connection is dead, and the loop has to close it.
  indirect case dead(RequestError)
  /// The loop has to read: an event is there, or something was sent before the connection broke.
  case read
}
