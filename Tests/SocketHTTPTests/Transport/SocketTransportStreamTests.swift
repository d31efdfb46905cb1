import HTTPTestSupport
import LoopbackServers
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Responses that are read for long, beside requests.
@Suite struct SocketTransportStreamTests {
  private static let streaming: [ScriptedServer.Step] = [
    .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n\n"), .waitForClientToClose,
  ]

  /// The first connections stream; the others answer.
  private func server(streams: Int) throws -> ScriptedServer {
    try ScriptedServer { number in number < streams ? Self.streaming : .answering { _ in RawResponse(body: "{}") } }
  }

  private func stream(from server: ScriptedServer, isMarked: Bool = true) throws -> HTTPRequest {
    var request = try HTTPRequest(method: .get, url: server.url, timeouts: HTTPTimeouts())
    request.isStream = isMarked
    return request
  }

  @Test(arguments: [true, false])
  func `a query to an origin with 64 open event streams goes out at once`(isMarked: Bool) async throws {
    let server = try server(streams: 64)
    let (transport, open, bag) = (SocketTransport(), Monitor(0), DisposeBag())
    for _ in 0..<64 {
      transport.send(try stream(from: server, isMarked: isMarked)).subscribe(
        onNext: { part in if case .body = part { open.update { $0 += 1 } } }, onError: { Issue.record($0) }
      ).disposed(by: bag)
    }
    try await open.wait(for: "the streams") { $0 == 64 }
    let request = try HTTPRequest.to(server, timeouts: HTTPTimeouts(connect: .seconds(2), total: .seconds(5)))
    #expect(try await transport.response(to: request).head.status == 200)
    let counts = SocketTransport.Statistics.Counts(idle: 1, streams: 64)
    #expect(transport.statistics().origins == [request.origin: counts])
  }

  @Test func `one stream more than may be fails at once, and is never sent; one that ends makes room`() async throws {
    let server = try server(streams: 3)
    var configuration = SocketTransport.Configuration()
    configuration.maximumStreamsPerOrigin = 2
    let (transport, open) = (SocketTransport(configuration: configuration), Monitor(0))
    func subscribe() throws -> any Disposable {
      transport.send(try stream(from: server)).subscribe(
        onNext: { part in if case .body = part { open.update { $0 += 1 } } }, onError: { Issue.record($0) })
    }
    let bag = DisposeBag()
    let first = try subscribe()
    try subscribe().disposed(by: bag)
    let error = try await transport.send(stream(from: server)).collect(upTo: 1).failure
    #expect(error?.kind == .overloaded)
    #expect(error?.reached == .never)
    #expect(error?.message.contains("maximumStreamsPerOrigin") == true)
    try await open.wait(for: "the streams") { $0 == 2 }
    #expect(server.requests.count == 2)
    first.dispose()
    try subscribe().disposed(by: bag)
    try await open.wait(for: "the third stream") { $0 == 3 }
  }

  @Test func `an endless response that nothing announced is refused where there is no place for a stream`() async throws
  {
    let server = try server(streams: 3)
    var configuration = SocketTransport.Configuration()
    (configuration.maximumStreamsPerOrigin, configuration.maximumConnectionsPerOrigin) = (2, 1)
    let (transport, open, bag) = (SocketTransport(configuration: configuration), Monitor(0), DisposeBag())
    for count in 1...2 {
      transport.send(try stream(from: server, isMarked: false)).subscribe(
        onNext: { part in if case .body = part { open.update { $0 += 1 } } }, onError: { Issue.record($0) }
      ).disposed(by: bag)
      try await open.wait(for: "the streams") { $0 == count }
    }
    let error = try await transport.send(stream(from: server, isMarked: false)).collect(upTo: 1).failure
    #expect(error?.kind == .overloaded)
    #expect(error?.reached == .maybe)
    #expect(error?.message.contains("maximumStreamsPerOrigin") == true)
    // It has not taken the only place for requests.
    #expect(try await transport.response(to: .to(server)).head.status == 200)
  }

  @Test func `one that ends, such as a large text, keeps its place as a request where there is none`() async throws {
    let text = String(repeating: "x", count: 300_000)
    let server = try ScriptedServer(
      .answering { _ in RawResponse(headers: [("Content-Type", "text/plain")], body: text) })
    var configuration = SocketTransport.Configuration()
    configuration.maximumStreamsPerOrigin = 0
    let transport = SocketTransport(configuration: configuration)
    #expect(try await transport.response(to: .to(server)).body.count == text.utf8.count)
  }

  @Test func `the connection of a download that has ended carries the next request`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: String(repeating: "x", count: 200_000)) })
    let transport = SocketTransport()
    var download = try HTTPRequest(method: .get, url: server.url)
    download.isDownload = true
    for request in [download, try .to(server, isReplayable: true), download] {
      #expect(try await transport.response(to: request).body.count == 200_000)
    }
    #expect(server.log.value.connections.count == 1)
    #expect(transport.statistics().total == .init(idle: 1))
  }
}
