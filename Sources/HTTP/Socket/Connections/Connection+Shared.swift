import Foundation
import Streams

extension Connection {
  /// What the threads that write requests share with the loop: the channel, and its current exchange.
  struct Shared {
    var channel: (any ByteChannel)?
    private(set) var exchange: SocketExchange?
    /// An exchange of which nothing could be sent, until the connection is closed.
    private var unsentExchange: SocketExchange?
    /// When writing of the exchange's request began.
    private(set) var startTime = Instant.now
    private(set) var hasSent = false
    private var outbound = Outbound()
    private var writeError: RequestError?
    private var isUsed = false

    /// How much is written before others have their turn, even if the socket could take more.
    private static let largestTurn = 1 << 20

    /// Whether a request may be written.
    func condition() -> Condition {
      guard let channel else { return .gone }
      switch channel.condition() {
      case .quiet: break
      case .closed: return .dead(.cut("before it was asked"))
      // Nothing was asked yet, so this cannot be a response. On a new connection, leave it to the parser to say what it
      // is.
      case .readable: if isUsed { return .dead(.cut("before it was asked")) }
      }
      return .ready(isReused: isUsed)
    }

    /// Writes the request of the exchange that has leased the connection.
    mutating func start(_ exchange: SocketExchange) -> Start {
      // The loop has closed the connection, and takes care of the exchange.
      guard let channel else { return .sent }
      self.exchange = exchange
      startTime = .now
      outbound = exchange.outbound
      exchange.noteSign(at: startTime)
      return write(channel)
    }

    /// Continues writing; returns `nil` if there is nothing to write to.
    mutating func flush() -> Start? {
      guard let channel, writeError == nil else { return nil }
      let before = outbound.writtenCount
      let start = write(channel)
      if outbound.writtenCount > before { exchange?.noteSignUnlessBusy() }
      return start
    }

    private mutating func write(_ channel: any ByteChannel) -> Start {
      let end = outbound.writtenCount + Self.largestTurn
      while !outbound.isEmpty {
        if outbound.writtenCount >= end { return .more }
        switch outbound.withNext(channel.write) {
        case .taken(let count):
          hasSent = true
          outbound.advance(by: count)
          exchange?.didSend(outbound.writtenCount)
        case .blocked:
          return .blocked
        case .failed(let error):
          return didFailToWrite(error)
        }
      }
      switch channel.flush() {
      case .done: return .sent
      case .blocked: return .blocked
      case .failed(let error): return didFailToWrite(error)
      }
    }

    private mutating func didFailToWrite(_ error: RequestError) -> Start {
      guard hasSent else {
        // The pool still has the exchange. What the server has sent unasked must not be taken for its response.
        unsentExchange = exchange.take()
        outbound = Outbound()
        return .dead(error)
      }
      writeError = error
      return .broken
    }

    /// Whether a part of the request is still to be written, and can be.
    var hasMoreToSend: Bool { channel != nil && writeError == nil && !outbound.isEmpty }

    /// Continues reading; when nothing is left to read, an earlier error of writing is reported.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
      let outcome = channel?.read(into: buffer) ?? .blocked
      guard case .blocked = outcome, let writeError else { return outcome }
      return .failed(writeError)
    }

    /// Records that the response has arrived, and returns whether another request may follow: if the response allows
    /// it, the whole request was sent, and nothing came after the response.
    mutating func finish(mayReuse: Bool, using buffer: UnsafeMutableRawBufferPointer) -> Bool {
      var isReusable = mayReuse && outbound.isEmpty && writeError == nil
      if isReusable, case .done? = channel?.flush() {} else { isReusable = false }
      // Further bytes would be read as the response to the next request; with TLS they may already be there, in a
      // record of their own.
      if isReusable, case .blocked? = channel?.read(into: buffer) {} else { isReusable = false }
      exchange = nil
      outbound = Outbound()
      hasSent = false
      isUsed = true
      return isReusable
    }

    /// Closes the channel, so that nothing can be sent any more. Returns its exchange, to be released without any lock.
    mutating func close() -> SocketExchange? {
      channel?.close()
      channel = nil
      outbound = Outbound()
      return exchange.take() ?? unsentExchange.take()
    }
  }

  /// The state of a connection when a request is to be written.
  enum Condition {
    case ready(isReused: Bool)
    /// The connection is dead; the loop has to close it.
    case dead(RequestError)
    /// The loop has closed it.
    case gone
  }

  /// The outcome of beginning to write a request.
  enum Start {
    /// Everything is written; the loop reads the response.
    case sent
    /// The socket is full; the loop has to flush.
    case blocked
    /// There is more than is written in one turn; the loop has to flush.
    case more
    /// Nothing was sent; the connection is dead, and the loop has to close it.
    case dead(RequestError)
    /// Something was sent before the connection broke; the loop has to read what there is.
    case broken
  }
}
