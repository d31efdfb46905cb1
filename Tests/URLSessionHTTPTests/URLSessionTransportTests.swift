import Foundation
import HTTPClientCore
import Streams
import TestSupport
import Testing
import TransportConformance
import URLSessionHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What holds for a `URLSession` beyond `TransportConformance`, or in its stead.
struct URLSessionTransportTests {
  private let transport = URLSessionTransport()

  private func request(
    _ server: ScriptedServer, headers: HTTPHeaders = [:], timeouts: HTTPTimeouts = HTTPTimeouts(total: .seconds(20))
  ) throws -> HTTPRequest {
    try HTTPRequest(method: .get, url: server.url, headers: headers, timeouts: timeouts)
  }

  @Test func `a header may hold any text, and no coding is requested`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse() })
    let headers = HTTPHeaders([try HTTPField(name: "X-Name", value: "王")])
    _ = try await transport.send(request(server, headers: headers)).collect(upTo: 100).value
    let received = try #require(server.requests.first)
    #expect(received["x-name"] == "王")
    #expect(received["accept-encoding"] == "identity")
  }

  @Test(arguments: [
    HTTPTimeouts(total: .zero), HTTPTimeouts(total: .seconds(-1)), HTTPTimeouts(idle: .zero),
    HTTPTimeouts(connect: .zero, idle: nil),
  ])
  func `T6: a deadline that has passed already fails at once`(timeouts: HTTPTimeouts) async throws {
    let server = try ScriptedServer(.neverAnswering)
    try await expectDelay(of: .zero) {
      let start = ContinuousClock.now
      let error = await #expect(throws: RequestError.self) {
        try await transport.send(request(server, timeouts: timeouts)).collect(upTo: 100).value
      }
      #expect(error?.kind == .timedOut)
      return .now - start
    }
  }

  @Test(arguments: [ScriptedServer.Fault.endlessHeaders, .truncatedGzip])
  func `T8: a response that Foundation cannot be trusted with is a bad response`(fault: ScriptedServer.Fault)
    async throws
  {
    let server = try ScriptedServer(fault)
    let error = await #expect(throws: RequestError.self) {
      try await transport.send(request(server)).collect(upTo: 1 << 20).value
    }
    #expect(error?.kind == .badResponse)
  }

  @Test func `a challenge for a password is given as the 401 that it is`() async throws {
    let server = try ScriptedServer(
      .answering { _ in RawResponse(401, headers: [("WWW-Authenticate", #"Basic realm="x""#)], body: "no") })
    let response = try await transport.send(request(server)).collect(upTo: 100).value
    #expect(response.head.status == 401)
    #expect(server.requests.count == 1)
  }

  /// Foundation reads such a body on until it pauses, which takes seconds in about every third of these rounds.
  @Test func `T7: neither disposing nor sending waits while Foundation reads a body without end`() async throws {
    for _ in 0..<8 {
      let server = try ScriptedServer(.endlessBody)
      let isReading = Latch()
      let first = try transport.send(request(server)).subscribe(onNext: { _ in isReading.open() }, onError: { _ in })
      try await isReading.wait()
      let start = ContinuousClock.now
      let second = try transport.send(request(server)).subscribe(onError: { _ in })
      second.dispose()
      first.dispose()
      #expect(.now - start < .seconds(1))
      server.stop()
    }
  }

  @Test func `T7: a request that is disposed of before Foundation has taken it is not sent`() async throws {
    let queue = BlockedQueue()
    queue.maxConcurrentOperationCount = 1
    defer { queue.open() }
    let transport = URLSessionTransport(delegateQueue: queue)
    let first = try ScriptedServer(.neverFinishing)
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let reading = try transport.send(request(first)).subscribe(onError: { _ in })
    try await queue.isBlocked.wait()
    let start = ContinuousClock.now
    let unsent = try (0..<20).map { _ in try transport.send(request(server)).subscribe(onError: { _ in }) }
    for subscription in unsent + [reading] { subscription.dispose() }
    #expect(.now - start < .seconds(10))
    queue.open()
    _ = try await transport.send(request(server)).collect(upTo: 100).value
    #expect(server.requests.count == 1)
    try await first.waitForClientToClose()
  }

  @Test(arguments: [(HTTPMethod.post, Data("{}".utf8) as Data?), (.post, Data()), (.delete, nil as Data?)])
  func `R1: a request that was sent over a kept connection is not said never to have left if another is refused`(
    method: HTTPMethod, body: Data?
  ) async throws {
    let server = try ScriptedServer([
      .readRequest, .send(RawResponse(body: "{}")), .readRequest, .waitForClientToClose,
    ])
    _ = try await transport.send(request(server)).collect(upTo: 100).value
    let mutation = try HTTPRequest(method: method, url: server.url, body: body)
    let errors = Monitor<[RequestError]>([])
    let subscription = transport.send(mutation).subscribe(onError: { error in
      if let error = error as? RequestError { errors.update { $0.append(error) } }
    })
    try await server.waitForRequests(2)
    server.stop()
    #expect(try await errors.wait { !$0.isEmpty }.map(\.reached) == [.maybe])
    subscription.dispose()
  }

  /// What libcurl says of a host that has refused at one address, and accepted at another, comes with the code for
  /// "cannot connect".
  @Test(arguments: [
    ("Empty reply from server", false), ("transfer closed with 97 bytes remaining to read", false),
    ("Recv failure: Connection reset by peer", false), ("Failed to connect to 127.0.0.1 port 9 after 0 ms", true),
    ("Couldn't connect to server", true),
  ])
  func `R1: only what never had a connection never left`(text: String, isUnsent: Bool) {
    let error = NSError(
      domain: NSURLErrorDomain, code: NSURLErrorCannotConnectToHost, userInfo: [NSLocalizedDescriptionKey: text])
    let converted = RequestError(urlSession: URLError(_nsError: error))
    #expect(converted.kind == (isUnsent ? .cannotConnect : .connectionLost))
    #expect((converted.reached == .never) == isUnsent)
  }

  @Test func `a transport that is released with its last exchange leaves nothing behind`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    weak var gone: URLSessionTransport?
    do {
      let transport = URLSessionTransport()
      gone = transport
      _ = try await transport.send(request(server)).collect(upTo: 100).value
    }
    // The answer is given from within the exchange's queue, which may be about to let go of it.
    let start = ContinuousClock.now
    while gone != nil, .now - start < .seconds(20) { await Task.yield() }
    #expect(gone == nil)
  }
}

/// Blocks who adds the first operation, until it is opened: on Linux that is the session, which does nothing else then.
///
/// `@unchecked Sendable`: its own variables are constant, and of types that are `Sendable`.
private final class BlockedQueue: OperationQueue, @unchecked Sendable {
  let isBlocked = Latch()
  private let gate = DispatchSemaphore(value: 0)

  override func addOperation(_ block: @escaping @Sendable () -> Void) {
    isBlocked.open()
    gate.wait()
    gate.signal()
    super.addOperation(block)
  }

  func open() { gate.signal() }
}
