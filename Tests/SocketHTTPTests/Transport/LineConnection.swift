import Foundation
import Streams
import TestSupport

@testable import HTTPClientCore
@testable import SocketHTTP

/// A protocol that carries several exchanges at a time, as HTTP/2 does, in the simplest form: requests are written in
/// HTTP/1.1, and have numbers in their order from 1; the server sends lines.
///
///     limit 2          it carries two exchanges at a time from now on
///     end 1 hello      the response to the first request is `hello`
///     refuse 1         the first request is not carried out, and nothing else has changed
///     reset 1          nobody knows what has become of the first request
final class LineConnection: HTTPConnection {
  let limit: Int
  let isSequential = false
  private(set) var isUsed = false

  private var exchanges: [Int: SocketExchange] = [:]
  private var lastNumber = 0
  private var output: [UInt8] = []
  private var input: [UInt8] = []
  private var events: [ConnectionEvent] = []

  init(limit: Int) {
    self.limit = limit
  }

  func begin(_ exchange: SocketExchange, whenReady: (@Sendable () -> Void)?) {
    lastNumber += 1
    exchanges[lastNumber] = exchange
    exchange.recordActivity()
    output += RequestWriter(for: exchange).head(of: exchange.request) + (exchange.request.body ?? Data())
  }

  func cancel(_ exchange: SocketExchange) {
    guard let number = exchanges.first(where: { $0.value === exchange })?.key else { return }
    exchanges[number] = nil
    output += Array("POST /cancel\(number) HTTP/1.1\r\nContent-Length: 0\r\n\r\n".utf8)
  }

  func withNext(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> WriteOutcome) -> WriteOutcome? {
    output.isEmpty ? nil : output.withUnsafeBytes { body($0, UnsafeRawBufferPointer(start: nil, count: 0)) }
  }

  func didWrite(_ count: Int) { output.removeFirst(count) }
  func didFlush() -> Bool { false }
  func didFailToWrite(_ error: RequestError) -> WritingOutcome { .dead(error) }

  func receive(_ bytes: UnsafeRawBufferPointer) throws(RequestError) {
    input += bytes
    while let end = input.firstIndex(of: UInt8(ascii: "\n")) {
      let words = String(decoding: input[..<end], as: UTF8.self).components(separatedBy: " ")
      input.removeSubrange(...end)
      guard words.count > 1, let number = Int(words[1]) else { throw .notHTTP("no line of the tests") }
      if words[0] == "limit" { events.append(.limit(number)) } else { didReceive(words, number) }
    }
  }

  private func didReceive(_ words: [String], _ number: Int) {
    guard let exchange = exchanges.removeValue(forKey: number) else { return }
    exchange.recordResponse()
    let reset = RequestError(.connectionLost, "The server has ended request \(number).")
    switch words[0] {
    case "refuse": events.append(.lost(ExchangeLoss(exchange: exchange), reset))
    case "reset": events.append(.lost(ExchangeLoss(exchange: exchange, reached: .maybe), reset))
    default:
      isUsed = true
      let parts = [HTTPResponsePart.head(HTTPResponseHead(status: 200, headers: [:])), .body(Data(words[2].utf8))]
      events.append(
        .completed(ExchangeCompletion(exchange: exchange, parts: parts, start: .now, mayReuse: true, keepAlive: nil)))
    }
  }

  func receiveEnd(isAuthentic: Bool) throws(RequestError) { throw .cut("between two lines") }

  func next(isEmpty: Bool) throws(RequestError) -> ConnectionEvent? { events.isEmpty ? nil : events.removeFirst() }

  func close() -> [ExchangeLoss] {
    defer { exchanges = [:] }
    return exchanges.sorted { $0.key < $1.key }.map { ExchangeLoss(exchange: $0.value, reached: .maybe) }
  }
}
