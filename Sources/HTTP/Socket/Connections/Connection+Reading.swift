import Foundation
import Streams

// Only on the loop's thread.
extension Connection {
  /// Resumes reading after the batch of a pause has been delivered.
  private func resume(after pause: Int) {
    guard isPaused, pause == pauses else { return }
    isPaused = false
    read()
  }

  /// How much is read before the observer gets it: a piece that arrives in several parts, such as TLS records, is
  /// delivered in one go.
  private static let largestDelivery = 64 << 10

  /// Reads until the socket is empty, or there is enough to deliver first.
  func read() {
    guard let loop, !isPaused else { return }
    shared.withLock { $0.channel?.beginReading(isOver: isOver) }
    while !isPaused, let open {
      let (outcome, exchange) = shared.withLock { ($0.read(into: loop.buffer), $0.exchange) }
      switch outcome {
      case .bytes(let count):
        guard let exchange else { return fail(.notHTTP("it came before the request")) }
        consume(UnsafeRawBufferPointer(rebasing: loop.buffer[..<count]), for: exchange)
      case .blocked:
        if let exchange, !parts.isEmpty { return deliver(to: exchange) }
        return loop.rearm(open.socket, .reading)
      case .end(let isAuthentic):
        return didEnd(isAuthentic: isAuthentic)
      case .failed(let error):
        return fail(error)
      }
    }
  }

  private func consume(_ bytes: UnsafeRawBufferPointer, for exchange: SocketExchange) {
    // The parser is made and used in place: copying it costs more than its work.
    if parser == nil {
      exchange.noteAnswer()
      parser = HTTP1Parser(
        answering: exchange.parserRequest, keepsInterim: exchange.request.onInterimResponse != nil)
    }
    // What comes after an early response is no part of it, and no response to anything else.
    if mayReuseOnceSent != nil {
      mayReuseOnceSent = false
      return
    }
    do throws(RequestError) {
      let count = try parser?.consume(bytes, into: &parts) ?? 0
      partsSize += count
      for head in parser?.takeInterim() ?? [] { exchange.didReceive(interim: head) }
      if let parser, parser.isComplete {
        let mayReuse = parser.allowsReuse && count == bytes.count
        // A server that answers early with success wants the rest of the request, too; one that refuses does not (RFC
        // 9110, section 10.1.1; RFC 9112, section 9.5).
        if parser.isSuccess, shared.withLock({ $0.hasMoreToSend }) {
          mayReuseOnceSent = mayReuse
          exchange.noteSign()
        } else {
          complete(exchange, mayReuse: mayReuse)
        }
      } else if partsSize >= Self.largestDelivery, !parts.isEmpty {
        deliver(to: exchange)
      } else {
        exchange.noteSign()
      }
    } catch {
      fail(error)
    }
  }

  /// Delivers the parts; reading resumes when the observer has taken them.
  private func deliver(to exchange: SocketExchange) {
    isPaused = true
    pauses += 1
    exchange.noteDelivery()
    loop?.deliver(to: exchange.mailbox) { [self, loop, pauses, parts = takeParts()] in
      if exchange.deliver(parts) { loop?.submit { self.resume(after: pauses) } }
    }
  }

  func takeParts() -> [HTTPResponsePart] {
    defer { (parts, partsSize) = ([], 0) }
    return parts
  }

  private func didEnd(isAuthentic: Bool) {
    let exchange = shared.withLock { $0.exchange }
    guard let exchange, var parser else { return fail(.cut("before it answered")) }
    do throws(RequestError) {
      try parser.finish()
      guard isAuthentic else { throw .cut("without saying that the response is complete") }
      complete(exchange, mayReuse: false)
    } catch {
      fail(error)
    }
  }

  /// Completes an exchange whose response came before its request was sent, once that is done.
  func completeOnceSent() {
    guard let mayReuse = mayReuseOnceSent, let exchange = shared.withLock({ $0.exchange }) else { return }
    complete(exchange, mayReuse: mayReuse)
  }

  private func complete(_ exchange: SocketExchange, mayReuse: Bool) {
    guard let loop else { return }
    mayReuseOnceSent = nil
    let parts = takeParts()
    let keepAlive = parser?.keepAliveTimeout
    parser = nil
    let (isReusable, startTime) = shared.withLock { shared in
      (shared.finish(mayReuse: mayReuse, using: loop.buffer), shared.startTime)
    }
    if !isReusable { close() }
    engine?.didComplete(
      exchange, on: self, since: startTime, parts, isReusable: isReusable, keepAlive: keepAlive)
  }
}
