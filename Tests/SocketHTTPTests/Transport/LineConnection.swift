import Foundation
import Streams
import TestSupport

@testable import HTTPClientCore
@testable import SocketHTTP

/// A protocol that carries several exchanges at a time, as HTTP/2 does, in the simplest form: requests are written in
/// HTTP/1.1, and have numbers in their order from 1; the server sends lines.
///
///     limit 2          it carries two exchanges at a time from now on
///     part 1 hel       a part of the response to the first request is `hel`
///     end 1 lo         the last part of it is `lo`
///     events 1 data    as `part`, of an endless response
///     last 1 lo        as `end`, and no other exchange may follow
///     refuse 1         the first request is not carried out, and nothing else has changed
///     http1 1          the first request is not carried out in this protocol
///     reset 1          nobody knows what has become of the first request
///     pong 0           a sign of life, which has no other meaning
///
/// The client sends `/cancel1` when the first exchange was cancelled, and `/taken1/3` when its observer has taken three
/// bytes of parts. If it has a patience, it sends `/ping` when the server has been silent for so long with exchanges, and
/// gives the connection up after another silence of that length.
final class LineConnection: HTTPConnection {
  let limit: Int
  let version = "lines"
  let isSequential = false
  private(set) var isUsed = false
  var load: Int { exchanges.count }

  private var exchanges: [Int: SocketExchange] = [:]
  private var numbers: [ObjectIdentifier: Int] = [:]
  private var lastNumber = 0
  /// The exchanges whose head has come.
  private var responding: Set<Int> = []
  private var output: [UInt8] = []
  private var input: [UInt8] = []
  private var events: [ConnectionEvent] = []

  private let patience: Duration?
  private var lastSign = Instant.now
  private var isPinged = false
  /// Whether it takes no more.
  private var isDraining = false

  init(limit: Int, patience: Duration? = nil) {
    self.limit = limit
    self.patience = patience
  }

  func begin(_ exchange: SocketExchange, whenReady: (@Sendable () -> Void)?) {
    // It may have been given the exchange before it knew.
    guard !isDraining else { return events.append(.lost(ExchangeLoss(exchange: exchange), .cut("before it began"))) }
    if exchanges.isEmpty { lastSign = .now }
    lastNumber += 1
    exchanges[lastNumber] = exchange
    numbers[ObjectIdentifier(exchange)] = lastNumber
    exchange.recordActivity()
    output += RequestWriter(for: exchange).head(of: exchange.request) + (exchange.request.body ?? Data())
  }

  func cancel(_ exchange: SocketExchange) {
    guard let number = numbers[ObjectIdentifier(exchange)], exchanges[number] != nil else { return }
    exchanges[number] = nil
    tell("cancel\(number)")
  }

  private func tell(_ path: String) {
    output += Array("POST /\(path) HTTP/1.1\r\nContent-Length: 0\r\n\r\n".utf8)
  }

  func withNext(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> WriteOutcome) -> WriteOutcome? {
    output.isEmpty ? nil : output.withUnsafeBytes { body($0, UnsafeRawBufferPointer(start: nil, count: 0)) }
  }

  func didWrite(_ count: Int) { output.removeFirst(count) }
  func didFlush() -> Bool { hasEvents }
  func didFailToWrite(_ error: RequestError) -> WritingOutcome { .dead(error) }

  func receive(_ bytes: UnsafeRawBufferPointer) throws(RequestError) {
    input += bytes
    (lastSign, isPinged) = (.now, false)
    while let end = input.firstIndex(of: UInt8(ascii: "\n")) {
      let words = String(decoding: input[..<end], as: UTF8.self).components(separatedBy: " ")
      input.removeSubrange(...end)
      guard words.count > 1, let number = Int(words[1]) else { throw .notHTTP("no line of the tests") }
      if words[0] == "limit" {
        events.append(.limit(number))
        isDraining = number == 0
      } else {
        didReceive(words, number)
      }
    }
  }

  private func didReceive(_ words: [String], _ number: Int) {
    guard let exchange = exchanges[number] else { return }
    exchange.recordResponse()
    let reset = RequestError(.connectionLost, "The server has ended request \(number).")
    switch words[0] {
    case "refuse": lose(ExchangeLoss(exchange: exchange), number, reset)
    case "http1": lose(ExchangeLoss(exchange: exchange, requiresHTTP1: true), number, reset)
    case "reset": lose(ExchangeLoss(exchange: exchange, reached: .maybe), number, reset)
    case "part": events.append(.parts(parts(words[2], of: number), exchange))
    case "events": events.append(.parts(parts(words[2], of: number, isEndless: true), exchange))
    default:
      isUsed = true
      exchanges[number] = nil
      let completion = ExchangeCompletion(
        exchange: exchange, parts: parts(words[2], of: number), start: .now, mayReuse: words[0] == "end", keepAlive: nil
      )
      events.append(.completed(completion))
    }
  }

  private func lose(_ loss: ExchangeLoss, _ number: Int, _ error: RequestError) {
    exchanges[number] = nil
    events.append(.lost(loss, error))
  }

  private func parts(_ text: String, of number: Int, isEndless: Bool = false) -> [HTTPResponsePart] {
    let body = HTTPResponsePart.body(Data(text.utf8))
    guard responding.insert(number).inserted else { return [body] }
    return [
      .head(HTTPResponseHead(status: 200, headers: isEndless ? ["Content-Type": "text/event-stream"] : [:])), body,
    ]
  }

  func receiveEnd(isAuthentic: Bool) throws(RequestError) { throw .cut("between two lines") }

  func didFailToRead(_ error: RequestError) -> ConnectionEvent? { nil }

  func didDeliver(_ count: Int, of exchange: SocketExchange) {
    if let number = numbers[ObjectIdentifier(exchange)] { tell("taken\(number)/\(count)") }
  }

  var hasEvents: Bool { !events.isEmpty }

  func next(isEmpty: Bool) throws(RequestError) -> ConnectionEvent? { events.isEmpty ? nil : events.removeFirst() }

  var wakeTime: Instant? {
    patience.flatMap { exchanges.isEmpty ? nil : lastSign + $0 * (isPinged ? 2 : 1) }
  }

  func wake(at now: Instant) throws(RequestError) {
    if isPinged { throw .cut("though it was asked for a sign of life") }
    isPinged = true
    tell("ping")
  }

  func end() {}

  func close() -> [ExchangeLoss] {
    defer { exchanges = [:] }
    return exchanges.sorted { $0.key < $1.key }.map {
      ExchangeLoss(exchange: $0.value, reached: .maybe, hasReceived: responding.contains($0.key))
    }
  }
}

extension SocketTransport {
  /// A transport whose connections are `LineConnection`s.
  static func lines(
    limit: Int, connections: Int = 1, patience: Duration? = nil, _ configure: (inout Configuration) -> Void = { _ in }
  ) -> SocketTransport {
    var configuration = Configuration()
    configuration.maximumConnectionsPerOrigin = connections
    // No matter how slow the machine is, what the tests send shares a connection.
    configuration.idleTimeUnlessReplayable = .seconds(60)
    configure(&configuration)
    return SocketTransport(
      configuration: configuration, makeHTTP: { _ in LineConnection(limit: limit, patience: patience) })
  }
}
