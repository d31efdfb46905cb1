import Foundation
import Streams

extension Connection {
  /// What the threads that write requests share with the loop: the channel, and the exchange that it is for.
  struct Shared {
    var channel: (any ByteChannel)?
    private(set) var exchange: SocketExchange?
    /// When the exchange's request was written.
    private(set) var startTime = Instant.now
    private(set) var hasSent = false
    private var outbound = Outbound()
    private var writeError: RequestError?
    private var isUsed = false

    /// What is written at most before others have their turn, though the socket may take more.
    private static let largestTurn = 1 << 20

    /// Whether a request may be written.
    func condition() -> Condition {
      guard let channel else { return .gone }
      switch channel.condition() {
      case .quiet: break
      case .closed: return .dead(.cut("before it was asked"))
      // Nothing was asked, so this would be an answer to no question. The first time the parser can tell what it is.
      case .readable: if isUsed { return .dead(.cut("before it was asked")) }
      }
      return .ready(isReused: isUsed)
    }

    /// Writes the request of the exchange that has leased the connection.
    mutating func start(_ exchange: SocketExchange) -> Start {
      // Closed by the loop, which takes care of the exchange.
      guard let channel else { return .sent }
      self.exchange = exchange
      startTime = .now
      outbound = exchange.outbound
      exchange.noteSign(at: startTime)
      return write(channel)
    }

    /// Writes on; `nil` where there is nothing to write to.
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
        // The pool has the exchange still. What the server said to no question is not to be taken for its answer.
        exchange = nil
        outbound = Outbound()
        return .dead(error)
      }
      writeError = error
      return .broken
    }

    /// Reads on; where nothing is left to read, an error of the writing is told.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
      let outcome = channel?.read(into: buffer) ?? .blocked
      guard case .blocked = outcome, let writeError else { return outcome }
      return .failed(writeError)
    }

    /// Takes note that the answer is there, and says whether another request may follow: where the answer allows it, all
    /// of this request was sent, and nothing came behind the answer.
    mutating func finish(mayReuse: Bool, using buffer: UnsafeMutableRawBufferPointer) -> Bool {
      var isReusable = mayReuse && outbound.isEmpty && writeError == nil
      if isReusable, case .done? = channel?.flush() {} else { isReusable = false }
      // More than the answer would be read as the answer to the next request; over TLS it may be there, in a record of
      // its own.
      if isReusable, case .blocked? = channel?.read(into: buffer) {} else { isReusable = false }
      exchange = nil
      outbound = Outbound()
      hasSent = false
      isUsed = true
      return isReusable
    }

    /// Gives up the channel, and with it the chance to send: whoever comes later sends nothing. Gives the exchange that
    /// it was for, to be let go of under no lock.
    mutating func close() -> SocketExchange? {
      channel?.close()
      channel = nil
      outbound = Outbound()
      return exchange.take()
    }
  }

  /// What a request finds that is to be written.
  enum Condition {
    case ready(isReused: Bool)
    /// The connection is dead, and the loop is to close it.
    case dead(RequestError)
    /// The loop has closed it.
    case gone
  }

  /// How the writing of a request began.
  enum Start {
    /// What could be written is; the loop reads the answer.
    case sent
    /// The socket is full: the loop is to flush.
    case blocked
    /// There is more than is written in one turn: the loop is to flush.
    case more
    /// Nothing was sent: the connection is dead, and the loop is to close it.
    case dead(RequestError)
    /// Something was sent, and then it broke: the loop is to read what there is.
    case broken
  }
}
