import Foundation
import GraphQLClient
import HTTPClientCore
import Stores
import StoresTestSupport
import Streams
import SystemBase
import TestSupport
import Testing

/// A store that follows real event streams, through what servers do to them.
@Suite(.timeLimit(.minutes(2))) struct LiveGapStoreTests {
  private struct Added: GraphQLSubscription {
    struct Variables: Encodable, Sendable {}
    struct ResponseData: Decodable, Sendable { let added: String }
    static let query: GraphQLDocument = "subscription added { added }"
    let variables = Variables()
  }

  private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

  private static func data(_ letter: String) -> String { "data: {\"data\":{\"added\":\"\(letter)\"}}\n\n" }

  @Test(arguments: [
    // The connection is cut inside an event, and the server keeps none.
    ["id: 1\nevent: next\n\(data("b"))id: 2\nevent: next\ndata: {\"da"],
    // It is cut behind an event, and what comes then is lost.
    ["id: 1\nevent: next\n\(data("b"))"],
    // Results without a name, and then a cut.
    ["\(data("b"))event: message\n\(data("c"))"],
    // Values before what cannot be read, in pieces.
    ["event: next\n\(data("b"))", "event: next\n\(data("c"))data: no re", "sult\n\n"],
  ])
  func `L2: a store that follows an event stream ends with the server's value`(pieces: [String]) async throws {
    let isBad = pieces.count > 1
    let latch = Latch()
    var first: [ScriptedServer.Step] = [.readRequest, .send(Self.head + ":\n\n"), .wait(for: latch)]
    for piece in pieces { first.append(.send(piece)) }
    first.append(.close)
    let server = try ScriptedServer(first, [.readRequest, .send(Self.head + ":\n\n"), .waitForClientToClose])
    var settings = LiveSettings.persistent
    settings.pauses = Backoff(initial: .milliseconds(1), maximum: .milliseconds(10))
    var client = try APIClient(baseURL: server.url)
    client.graphQL.live = .eventStream(settings)
    let (value, fetches) = (Locked("a"), Monitor(0))
    let fetch: @Sendable (String) -> Observable<String> = { _ in
      .deferred {
        fetches.update { $0 += 1 }
        return .just(value.withLock { $0 })
      }
    }
    let store = Store(.ofStream(fetch))
    let shown = Monitor("")
    let (bag, ended) = (DisposeBag(), Monitor(false))
    store.stream("k", .cacheFirst).compactMap(\.value).subscribe(onNext: { new in shown.update { $0 = new } })
      .disposed(by: bag)
    let events = Added().subscribe(on: client).map { event in event.map(\.data.added) }
    store.follow("k", events) { live, value in value.contains(live) ? nil : value + live }
      .subscribe(onError: { _ in ended.update { $0 = true } }).disposed(by: bag)
    // The second fetch is for what happened before there was a connection.
    try await fetches.wait { $0 == 2 }
    try await shown.wait { $0 == "a" }
    value.withLock { $0 = "abc" }
    latch.open()
    try await shown.wait { $0 == "abc" }
    if isBad { try await ended.wait { $0 } } else { try await server.waitForRequests(2) }
  }
}
