import Foundation
import HTTPClientCore
import Streams
import TestSupport
import Testing

@testable import SocketHTTP

/// What a connection in HTTP/2 makes of the frames of a server, without a socket.
@Suite struct HTTP2ConnectionTests {
  private func exchange(
    _ method: HTTPMethod = .get, body: Data? = nil, upload: HTTPUpload? = nil, timeouts: HTTPTimeouts = HTTPTimeouts()
  ) throws -> SocketExchange {
    let url = try #require(URL(string: "http://127.0.0.1/"))
    var request = try HTTPRequest(method: method, url: url, body: body)
    if let upload {
      request.upload = upload
      request.timeouts = timeouts
    }
    return try SocketExchange(
      request, route: Route(host: "127.0.0.1", port: 80, isSecure: false), observer: AnyObserver { _ in })
  }

  /// A connection whose server has sent its settings.
  private func connection(_ times: HTTP2Times = HTTP2Times()) throws -> HTTP2Connection {
    let connection = HTTP2Connection(times: times)
    try receive(HTTP2ServerFrame.settings(), on: connection)
    while try connection.next(isEmpty: true) != nil {}
    return connection
  }

  private func receive(_ bytes: [UInt8], on connection: HTTP2Connection) throws {
    try bytes.withUnsafeBytes { try connection.receive($0) }
  }

  /// Takes all that there is to send, and returns it.
  @discardableResult
  private func write(_ connection: HTTP2Connection) -> [UInt8] {
    var taken: [UInt8] = []
    let take: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> WriteOutcome = { first, second in
      taken += Array(first) + Array(second)
      return .taken(first.count + second.count)
    }
    while case .taken(let count)? = connection.withNext(take) { connection.didWrite(count) }
    return taken
  }

  @Test func `T10: a request that is begun counts for no sign of life, which one that is not replayable waits for`()
    throws
  {
    let connection = try connection(HTTP2Times(trust: .milliseconds(20)))
    write(connection)
    // The connection's clock is the machine's.
    usleep(50_000)
    let (query, mutation) = try (exchange(), exchange(.post, body: Data("{}".utf8)))
    for exchange in [query, mutation] { connection.begin(exchange, whenReady: nil) }
    var written = write(connection)
    // The head of the query, and a ping; the mutation waits for its answer.
    #expect(HTTP2ClientFrame.take(from: &written).map(\.type).sorted() == [1, 6])
    #expect(connection.load == 2)
  }

  /// An upload whose stream has made a pause, and has one byte then.
  private func pausingUpload(
    on connection: HTTP2Connection
  ) async throws -> (exchange: SocketExchange, stream: AsyncStream<Data>.Continuation) {
    let (pieces, stream) = AsyncStream.makeStream(of: Data.self)
    let isReady = Latch()
    let exchange = try exchange(.post, upload: .stream { pieces })
    connection.begin(exchange, whenReady: { isReady.open() })
    write(connection)
    #expect(exchange.nextDeadline?.phase == nil)
    stream.yield(Data([1]))
    try await isReady.wait()
    return (exchange, stream)
  }

  @Test func `a server whose window has no room is to blame, although the body's stream pauses`() async throws {
    let connection = HTTP2Connection()
    // The initial window of a stream.
    try receive(HTTP2ServerFrame.settings([(4, 0)]), on: connection)
    write(connection)
    let (exchange, stream) = try await pausingUpload(on: connection)
    write(connection)
    #expect(exchange.nextDeadline?.phase == .activity)
    stream.finish()
  }

  @Test func `a server that takes nothing is to blame, although the body's stream pauses`() async throws {
    let connection = try connection()
    write(connection)
    let (exchange, stream) = try await pausingUpload(on: connection)
    for _ in 0..<2 {
      guard case .blocked? = connection.withNext({ _, _ in .blocked }) else {
        return #expect(Bool(false), "it was not asked")
      }
    }
    #expect(exchange.nextDeadline?.phase == .activity)
    stream.finish()
  }

  @Test(arguments: ["", "hi"]) func `the default total counts once an upload is written`(body: String) throws {
    let connection = try connection()
    write(connection)
    var upload = HTTPUpload()
    upload.append(Data(body.utf8))
    let exchange = try exchange(.post, upload: upload, timeouts: HTTPTimeouts(connect: nil, idle: nil))
    connection.begin(exchange, whenReady: {})
    #expect(exchange.nextDeadline?.phase == nil)
    write(connection)
    #expect(exchange.nextDeadline?.phase == .completion)
  }

  @Test func `T10: what is not replayable waits for the settings of a server that has not sent them for long`() throws {
    let connection = HTTP2Connection(times: HTTP2Times(trust: .milliseconds(20)))
    write(connection)
    usleep(50_000)
    connection.begin(try exchange(.post, body: Data("{}".utf8)), whenReady: nil)
    var early = write(connection)
    #expect(HTTP2ClientFrame.take(from: &early).isEmpty)
    try receive(HTTP2ServerFrame.settings(), on: connection)
    var written = write(connection)
    #expect(HTTP2ClientFrame.take(from: &written).contains { $0.type == 1 })
  }

  @Test(arguments: [false, true])
  func `what is written prolongs the wait for a sign of life only if there was no room for it`(isFull: Bool) throws {
    let connection = try connection(HTTP2Times(silence: .zero, patience: .milliseconds(100)))
    connection.begin(try exchange(), whenReady: nil)
    write(connection)
    try connection.wake(at: .now)
    var ping = write(connection)
    #expect(HTTP2ClientFrame.take(from: &ping).map(\.type) == [6])
    var lastWrite = Instant.now
    for _ in 1...2 {
      usleep(60_000)
      connection.begin(try exchange(), whenReady: nil)
      if isFull { _ = connection.withNext { _, _ in .blocked } }
      lastWrite = .now
      write(connection)
    }
    if isFull {
      try connection.wake(at: lastWrite + .milliseconds(99))
    } else {
      #expect(throws: RequestError.self) { try connection.wake(at: lastWrite) }
    }
  }

  // MARK: - Uploads

  @Test(arguments: [false, true])
  func `T10: if an upload cannot be read, nothing was sent only if the head was not written`(isHeld: Bool) throws {
    let connection = try connection()
    let upload = HTTPUpload.stream(once: AsyncStream<Data> { $0.finish() })
    connection.begin(try exchange(.post, upload: upload), whenReady: nil)
    write(connection)
    if isHeld {
      // Heads wait for a server that has not taken what was offered.
      connection.begin(try exchange(), whenReady: nil)
      _ = connection.withNext { _, _ in .taken(5) }
      connection.didWrite(5)
    }
    let second = try exchange(.post, upload: upload)
    connection.begin(second, whenReady: nil)
    write(connection)
    guard case .lost(let loss, let error)? = try connection.next(isEmpty: true) else {
      Issue.record("the stream can be read once")
      return
    }
    #expect(loss.exchange === second)
    #expect(loss.reached == (isHeld ? .never : .maybe))
    #expect(error.kind == .cannotRead)
  }

  private struct Broken: Error {}

  @Test func `T10: a loss that nobody was told of is known when the connection closes`() async throws {
    let connection = try connection()
    let (pieces, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
    let isReady = Latch()
    let lost = try exchange(.post, upload: .stream { pieces })
    connection.begin(lost) { isReady.open() }
    write(connection)
    continuation.finish(throwing: Broken())
    try await isReady.wait()
    // The socket is full.
    _ = connection.withNext { _, _ in .blocked }
    let losses = connection.close()
    #expect(losses.map { ObjectIdentifier($0.exchange) } == [ObjectIdentifier(lost)])
    #expect(losses.map(\.reached) == [.maybe])
  }

  // MARK: - Responses

  @Test func `what an observer leaves that goes behind the end of a response is given back to the connection`()
    throws
  {
    let connection = try connection()
    write(connection)
    let piece = [UInt8](repeating: 0, count: 1 << 10)
    var (stream, delivered): (UInt32, Int) = (1, 0)
    while delivered <= 2 * ReceiveWindow.largestStep {
      let exchange = try exchange()
      connection.begin(exchange, whenReady: nil)
      write(connection)
      try receive(HTTP2ServerFrame.head(stream), on: connection)
      for _ in 0..<400 { try receive(HTTP2ServerFrame.data(stream, piece), on: connection) }
      var counts: [Int] = []
      while case .parts(let parts, _)? = try connection.next(isEmpty: true) {
        counts.append(parts.reduce(0) { if case .body(let data) = $1 { $0 + data.count } else { $0 } })
      }
      try receive(HTTP2ServerFrame.data(stream, [], isEnd: true), on: connection)
      guard case .completed? = try connection.next(isEmpty: true) else {
        Issue.record("the response is complete")
        return
      }
      connection.cancel(exchange)
      for count in counts { connection.didDeliver(count, of: exchange) }
      delivered += counts.reduce(0, +)
      stream += 2
    }
    var written = write(connection)
    #expect(HTTP2ClientFrame.take(from: &written).contains { $0.type == 8 && $0.stream == 0 })
  }

  @Test func `a whole response counts, though nothing can be read any more and its request is still being sent`() throws
  {
    let connection = try connection()
    let early = try exchange(.post, body: Data(count: 200_000))
    connection.begin(early, whenReady: nil)
    write(connection)
    try receive(HTTP2ServerFrame.head(1, isEnd: true), on: connection)
    #expect(try outcomes(connection).isEmpty)
    guard case .completed(let completion)? = connection.didFailToRead(RequestError(.connectionLost, "It was reset."))
    else {
      Issue.record("the response is complete")
      return
    }
    #expect(completion.exchange === early)
    #expect(throws: RequestError.self) { try connection.next(isEmpty: true) }
  }

  @Test func `what has arrived for one exchange waits for no end of what arrives for another`() throws {
    let connection = try connection()
    let (small, large) = try (exchange(), exchange())
    connection.begin(small, whenReady: nil)
    connection.begin(large, whenReady: nil)
    try receive(
      HTTP2ServerFrame.head(1) + HTTP2ServerFrame.data(1, "event") + HTTP2ServerFrame.head(3), on: connection)
    let piece = HTTP2ServerFrame.data(3, [UInt8](repeating: 0, count: 16 << 10))
    var (pieces, isDelivered) = (0, false)
    while !isDelivered, pieces < 100 {
      try receive(piece, on: connection)
      pieces += 1
      while let event = try connection.next(isEmpty: false) {
        guard case .parts(let parts, let exchange) = event else { continue }
        if exchange === small { isDelivered = true }
        let count = parts.reduce(0) { if case .body(let data) = $1 { $0 + data.count } else { $0 } }
        connection.didDeliver(count, of: exchange)
      }
      write(connection)
    }
    #expect(pieces < 10)
  }

  @Test func `nothing is kept of a request that was refused before its body was sent`() throws {
    let connection = try connection()
    let refused = try exchange(.post, body: Data(count: 200_000))
    connection.begin(refused, whenReady: nil)
    write(connection)
    try receive(HTTP2ServerFrame.head(1, 413) + HTTP2ServerFrame.data(1, "too"), on: connection)
    guard case .parts? = try connection.next(isEmpty: true) else {
      Issue.record("the parts are delivered")
      return
    }
    connection.didDeliver(3, of: refused)
    try receive(HTTP2ServerFrame.data(1, " large", isEnd: true), on: connection)
    guard case .completed? = try connection.next(isEmpty: true) else {
      Issue.record("the response is complete")
      return
    }
    #expect(connection.load == 0)
    #expect(connection.delivered.isEmpty)
  }

  /// All that the connection says of its exchanges.
  private func outcomes(_ connection: HTTP2Connection) throws -> [Outcome] {
    var outcomes: [Outcome] = []
    while let event = try connection.next(isEmpty: true) {
      switch event {
      case .completed(let completion): outcomes.append(Outcome(completion.exchange, isRefused: false))
      case .lost(let loss, _):
        outcomes.append(Outcome(loss.exchange, isRefused: loss.isRefused, isExpelled: loss.isExpelled))
      case .limit, .parts, .ended: break
      }
    }
    return outcomes
  }

  private struct Outcome: Equatable {
    let exchange: SocketExchange
    let isRefused: Bool
    let isExpelled: Bool

    init(_ exchange: SocketExchange, isRefused: Bool, isExpelled: Bool = false) {
      (self.exchange, self.isRefused, self.isExpelled) = (exchange, isRefused, isExpelled)
    }

    static func == (a: Outcome, b: Outcome) -> Bool {
      a.exchange === b.exchange && (a.isRefused, a.isExpelled) == (b.isRefused, b.isExpelled)
    }
  }

  @Test func `exchanges wait while the server takes none, then begin in order, as many as it takes`() throws {
    let connection = try connection()
    try receive(HTTP2ServerFrame.settings([(HTTP2Setting.maximumConcurrentStreams, 0)]), on: connection)
    let exchanges = try (0..<4).map { _ in try exchange() }
    for exchange in exchanges { connection.begin(exchange, whenReady: nil) }
    write(connection)
    #expect(connection.load == 4)
    #expect(try outcomes(connection).isEmpty)
    connection.cancel(exchanges[0])
    try receive(HTTP2ServerFrame.settings([(HTTP2Setting.maximumConcurrentStreams, 2)]), on: connection)
    #expect(try outcomes(connection) == [Outcome(exchanges[3], isRefused: true)])
    write(connection)
    try receive(HTTP2ServerFrame.head(1, isEnd: true) + HTTP2ServerFrame.head(3, isEnd: true), on: connection)
    #expect(
      try outcomes(connection) == [
        Outcome(exchanges[1], isRefused: false), Outcome(exchanges[2], isRefused: false),
      ])
    #expect(connection.load == 0)
  }

  @Test func `exchanges beyond the server's limit go to another connection at once`() throws {
    let connection = try connection()
    try receive(HTTP2ServerFrame.settings([(HTTP2Setting.maximumConcurrentStreams, 1)]), on: connection)
    let exchanges = try (0..<3).map { _ in try exchange() }
    for exchange in exchanges { connection.begin(exchange, whenReady: nil) }
    #expect(try outcomes(connection) == exchanges.dropFirst().map { Outcome($0, isRefused: true) })
    #expect(connection.load == 1)
  }

  @Test func `what waits for the server to read begins in order, and goes to another connection when it takes no more`()
    throws
  {
    let connection = try connection()
    write(connection)
    try receive(HTTP2ServerFrame.settings([(HTTP2Setting.maximumConcurrentStreams, 10_000)]), on: connection)
    #expect(try outcomes(connection).isEmpty)
    let exchanges = try (0..<1200).map { _ in try exchange() }
    connection.begin(exchanges[0], whenReady: nil)
    _ = connection.withNext { _, _ in .taken(5) }
    connection.didWrite(5)
    for exchange in exchanges.dropFirst() { connection.begin(exchange, whenReady: nil) }
    #expect(connection.load == 1200)
    write(connection)
    write(connection)
    let heads = (0..<1100 as Range<UInt32>).flatMap { HTTP2ServerFrame.head($0 * 2 + 1, isEnd: true) }
    try receive(heads, on: connection)
    #expect(try outcomes(connection) == exchanges.prefix(1100).map { Outcome($0, isRefused: false) })
  }

  /// With NO_ERROR, and with ENHANCE_YOUR_CALM.
  @Test(arguments: [0, 11] as [UInt32])
  func `what waits for the server to read goes to another connection at a GOAWAY`(code: UInt32) throws {
    let connection = try connection()
    write(connection)
    try receive(HTTP2ServerFrame.settings([(HTTP2Setting.maximumConcurrentStreams, 10_000)]), on: connection)
    #expect(try outcomes(connection).isEmpty)
    let exchanges = try (0..<1200).map { _ in try exchange() }
    connection.begin(exchanges[0], whenReady: nil)
    _ = connection.withNext { _, _ in .taken(5) }
    connection.didWrite(5)
    for exchange in exchanges.dropFirst() { connection.begin(exchange, whenReady: nil) }
    try receive(HTTP2ServerFrame.goAway(UInt32(Int32.max), code), on: connection)
    let refused = try outcomes(connection)
    #expect(refused.count == 1199)
    #expect(refused.allSatisfy { $0.isRefused && $0.exchange !== exchanges[0] })
    #expect(refused.allSatisfy { $0.isExpelled == (code != 0) })
  }
}
