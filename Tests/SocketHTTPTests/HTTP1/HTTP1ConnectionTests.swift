import Foundation
import HTTPTestSupport
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// What HTTP/1.1 makes of an exchange and of bytes, without a socket.
@Suite struct HTTP1ConnectionTests {
  private let route = Route(host: "h", port: 80, isSecure: false)

  private func exchange(
    _ method: HTTPMethod = .get, body: Data? = nil, upload: HTTPUpload? = nil, timeouts: HTTPTimeouts = HTTPTimeouts()
  ) throws -> SocketExchange {
    var request = try HTTPRequest(method: method, url: url("http://h/"), body: body, timeouts: timeouts)
    request.upload = upload
    return try SocketExchange(request, route: route, observer: AnyObserver { _ in })
  }

  /// The bytes that are to be sent, of which up to so many are taken.
  private func write(_ http: HTTP1Connection, upTo limit: Int = .max) -> [UInt8] {
    var taken: [UInt8] = []
    while taken.count < limit {
      var part: [UInt8] = []
      let outcome = http.withNext { first, second in
        part = Array((Array(first) + Array(second)).prefix(limit - taken.count))
        return .taken(part.count)
      }
      guard case .taken(let count)? = outcome else { break }
      http.didWrite(count)
      taken += part
    }
    return taken
  }

  private func receive(_ text: String, _ http: HTTP1Connection) throws {
    try Array(text.utf8).withUnsafeBytes { try http.receive($0) }
  }

  private func completion(_ event: ConnectionEvent?) -> ExchangeCompletion? {
    if case .completed(let completion)? = event { completion } else { nil }
  }

  @Test func `an exchange is a head and a body, and then the parts of a response`() throws {
    let (http, exchange) = (HTTP1Connection(), try exchange(.post, body: Data("hi".utf8)))
    http.begin(exchange, whenReady: nil)
    let sent = String(decoding: write(http), as: UTF8.self)
    #expect(sent == "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi")
    #expect(!http.didFlush())
    #expect(try http.next(isEmpty: true) == nil)
    try receive("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nKeep-Alive: timeout=7\r\n\r\nhello", http)
    let completion = try #require(try self.completion(http.next(isEmpty: false)))
    #expect(completion.exchange === exchange)
    #expect(completion.parts.count == 2)
    #expect(completion.mayReuse)
    #expect(completion.keepAlive == 7)
    #expect(http.isUsed)
    #expect(http.close().isEmpty)
  }

  @Test func `a head that arrives alone is delivered once nothing more has arrived`() throws {
    let (http, exchange) = (HTTP1Connection(), try exchange())
    http.begin(exchange, whenReady: nil)
    _ = write(http)
    try receive("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", http)
    #expect(try http.next(isEmpty: false) == nil)
    guard case .parts(let parts, _)? = try http.next(isEmpty: true) else {
      return #expect(Bool(false), "it was kept")
    }
    #expect(parts.count == 1)
  }

  @Test func `a whole response that comes early with success waits for the rest of the request`() throws {
    let (http, exchange) = (HTTP1Connection(), try exchange(.post, body: Data(count: 1 << 20)))
    http.begin(exchange, whenReady: nil)
    _ = write(http, upTo: 1_000)
    try receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", http)
    #expect(try http.next(isEmpty: false) == nil)
    _ = write(http)
    #expect(http.didFlush())
    #expect(try completion(http.next(isEmpty: true))?.mayReuse == true)
  }

  @Test(arguments: ["103 Early Hints\r\n", "200 OK\r\nContent-Length: 0\r\n", "200 OK\r\nContent-Length: 1\r\n"])
  func `whatever the server says, it is not to blame for a pause of the body's stream`(head: String) throws {
    let (pieces, stream) = AsyncStream.makeStream(of: Data.self)
    let (http, exchange) = (HTTP1Connection(), try exchange(.post, upload: .stream { pieces }))
    http.begin(exchange, whenReady: {})
    _ = write(http)
    #expect(exchange.nextDeadline?.phase == nil)
    try receive("HTTP/1.1 \(head)\r\n", http)
    #expect(exchange.nextDeadline?.phase == nil)
    #expect(exchange.deliver([]))
    #expect(exchange.nextDeadline?.phase == nil)
    stream.finish()
  }

  @Test func `a server that refuses is to blame for the rest of its response, whatever pauses`() throws {
    let (pieces, stream) = AsyncStream.makeStream(of: Data.self)
    let (http, exchange) = (HTTP1Connection(), try exchange(.post, upload: .stream { pieces }))
    http.begin(exchange, whenReady: {})
    _ = write(http)
    try receive("HTTP/1.1 413 Content Too Large\r\nContent-Length: 10\r\n\r\n1", http)
    guard case .parts(let parts, _)? = try http.next(isEmpty: true) else {
      return #expect(Bool(false), "the head was kept")
    }
    #expect(exchange.deliver(parts))
    _ = write(http)
    #expect(exchange.nextDeadline?.phase == .activity)
    stream.finish()
  }

  @Test func `a server that takes nothing is to blame once the stream has something again`() async throws {
    let (pieces, stream) = AsyncStream.makeStream(of: Data.self)
    let isReady = Latch()
    let (http, exchange) = (HTTP1Connection(), try exchange(.post, upload: .stream { pieces }))
    http.begin(exchange, whenReady: { isReady.open() })
    _ = write(http)
    stream.yield(Data([1]))
    try await isReady.wait()
    guard case .blocked? = http.withNext({ _, _ in .blocked }) else { return #expect(Bool(false), "it was not asked") }
    #expect(exchange.nextDeadline?.phase == .activity)
    stream.finish()
  }

  @Test func `of the default total, an upload has all once it is written, whatever time went before`() throws {
    var upload = HTTPUpload()
    upload.append(Data("hi".utf8))
    let timeouts = HTTPTimeouts(connect: nil, idle: nil).after(.seconds(80))
    let (http, exchange) = (HTTP1Connection(), try exchange(.post, upload: upload, timeouts: timeouts))
    http.begin(exchange, whenReady: nil)
    let now = Instant.now
    #expect(try #require(exchange.nextLook(after: now)) > now)
    _ = write(http)
    #expect(try #require(exchange.nextDeadline).instant > now + .seconds(59))
  }

  @Test func `the default total counts once an upload is written`() throws {
    var upload = HTTPUpload()
    upload.append(Data("hi".utf8))
    let timeouts = HTTPTimeouts(connect: nil, idle: nil)
    let (http, exchange) = (HTTP1Connection(), try exchange(.post, upload: upload, timeouts: timeouts))
    http.begin(exchange, whenReady: nil)
    _ = write(http, upTo: 10)
    #expect(exchange.nextDeadline?.phase == nil)
    #expect(exchange.nextLook(after: .now) != nil)
    _ = write(http)
    #expect(exchange.nextDeadline?.phase == .completion)
    exchange.recordLoss()
    #expect(exchange.nextDeadline?.phase == nil)
  }

  enum Ending: CaseIterable { case refusesMore, reset, cutWithoutNotice }

  @Test(arguments: Ending.allCases)
  func `a whole response that came early counts, however the server ends the connection then`(ending: Ending) throws {
    let (http, exchange) = (HTTP1Connection(), try exchange(.post, body: Data(count: 1 << 20)))
    http.begin(exchange, whenReady: nil)
    _ = write(http, upTo: 1_000)
    try receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", http)
    #expect(try http.next(isEmpty: false) == nil)
    let error = RequestError(.connectionLost, "The connection was reset.")
    var event: ConnectionEvent?
    switch ending {
    case .refusesMore: _ = http.didFailToWrite(error)
    case .reset: event = http.didFailToRead(error)
    case .cutWithoutNotice: try http.receiveEnd(isAuthentic: false)
    }
    if event == nil { event = try http.next(isEmpty: true) }
    let whole = try #require(completion(event))
    #expect(!whole.mayReuse)
    #expect(whole.exchange === exchange)
  }

  @Test(arguments: [Ending.reset, .cutWithoutNotice])
  func `a whole response that came early does not count for a request whose body could not be read`(
    ending: Ending
  ) throws {
    let (http, exchange) = (HTTP1Connection(), try exchange(.post, body: Data(count: 1 << 20)))
    http.begin(exchange, whenReady: nil)
    _ = write(http, upTo: 1_000)
    try receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", http)
    _ = http.didFailToWrite(RequestError(.cannotRead, "The file has changed."))
    if ending == .reset {
      let event = http.didFailToRead(RequestError(.connectionLost, "The connection was reset."))
      #expect(completion(event) == nil)
    } else {
      let error = #expect(throws: RequestError.self) { try http.receiveEnd(isAuthentic: false) }
      #expect(error?.kind == .cannotRead)
    }
    #expect(http.close().map(\.reached) == [.maybe])
  }

  @Test func `a response that was cut off by a reset is not whole`() throws {
    let (http, exchange) = (HTTP1Connection(), try exchange(.post, body: Data(count: 1 << 20)))
    http.begin(exchange, whenReady: nil)
    _ = write(http, upTo: 1_000)
    try receive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{", http)
    let event = http.didFailToRead(RequestError(.connectionLost, "The connection was reset."))
    #expect(completion(event) == nil)
    #expect(http.close().map(\.reached) == [.maybe])
  }

  @Test func `a response that comes early and refuses ends the exchange, and the connection with it`() throws {
    let (http, exchange) = (HTTP1Connection(), try exchange(.post, body: Data(count: 1 << 20)))
    http.begin(exchange, whenReady: nil)
    _ = write(http, upTo: 1_000)
    try receive("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n", http)
    #expect(try completion(http.next(isEmpty: true))?.mayReuse == false)
  }

  @Test(arguments: [0, 10])
  func `T10: what is lost says whether the server may have got any of it`(sentCount: Int) throws {
    let (http, exchange) = (HTTP1Connection(), try exchange())
    http.begin(exchange, whenReady: nil)
    _ = write(http, upTo: sentCount)
    let losses = http.close()
    #expect(losses.map(\.reached) == [sentCount == 0 ? .never : .maybe])
    #expect(losses.map(\.hasReceived) == [false])
    #expect(losses.first?.exchange === exchange)
  }

  @Test func `what is lost has the parts that had arrived`() throws {
    let (http, exchange) = (HTTP1Connection(), try exchange())
    http.begin(exchange, whenReady: nil)
    _ = write(http)
    try receive("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", http)
    #expect(throws: RequestError.self) { try http.receiveEnd(isAuthentic: true) }
    let losses = http.close()
    #expect(losses.map(\.parts.count) == [2])
    #expect(losses.map(\.hasReceived) == [true])
  }

  @Test func `bytes before a request belong to nothing`() {
    #expect(throws: RequestError.self) { try receive("HTTP/1.1 408 Request Timeout\r\n\r\n", HTTP1Connection()) }
  }

  @Test func `an earlier error of writing is reported once nothing is left to read`() throws {
    let (http, exchange) = (HTTP1Connection(), try exchange())
    http.begin(exchange, whenReady: nil)
    _ = write(http, upTo: 10)
    guard case .read = http.didFailToWrite(RequestError(.connectionLost, "…")) else {
      return #expect(Bool(false), "something was sent")
    }
    try receive("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", http)
    #expect(try http.next(isEmpty: false) == nil)
    #expect(throws: RequestError.self) { try http.next(isEmpty: true) }
  }
}
