import Foundation
import GraphQLClient
import GraphQLClientLifecycle
import GraphQLClientLogging
import GraphQLClientMetrics
import GraphQLClientSpanRecorder
import GraphQLClientTesting
import GraphQLClientTracing
import HTTPClientCore
import HTTPMiddlewares
import Logging
import Models
import Networking
import ObservabilityTestSupport
import Repository
import ServiceLifecycle
import SocketHTTP
import Streams
import Testing
import UnixSignals

/// The README's samples, word for word.
enum Samples {
  static func observed(endpoint: URL, transport: some HTTPTransport, logger: Logger) throws -> APIClient {
    var client = try APIClient(baseURL: endpoint, transport: transport, middlewares: .standard())
    client.observer = RequestObservers([RequestTracer(), RequestMetrics(), RequestLogger(logger)])
    return client
  }

  static func traced(_ given: APIClient) async throws {
    var client = given
    let recorder = SpanRecorder(service: "timelines")
    client.observer = RequestTracer(recorder)
    _ = try await GetUser().post(on: client).value
    #expect(recorder.spans.contains { $0.name == "query getUser" && $0["graphql.client.attempts"] == "1" })
  }

  static func run(
    _ transport: SocketTransport, _ repo: MomentsRepo, _ outbox: Outbox<MomentLike, MomentsDetails>,
    _ timelines: Store<String, MomentsDetails>, _ server: some Service, logger: Logger
  ) async throws {
    let service = ClientService(transport, endsWithin: .seconds(10), logger: logger)
      .following("likes", repo.followLikes(userID: "0"))
      .closing("outbox") {
        await outbox.flush()
        await outbox.close()
      }
      .closing("timelines") { await timelines.close() }
    try await ServiceGroup(
      services: [service, server], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger
    ).run()
  }
}

@Suite("The README")
struct ReadmeTests {
  @Test func `each sample stands in this file`() throws {
    let file = URL(fileURLWithPath: #filePath)
    let readme = file.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "README.md")
    let text = Self.unindented(try String(contentsOf: file, encoding: .utf8))
    let samples = try String(contentsOf: readme, encoding: .utf8).matches(of: /(?ms)^```swift\n(.*?)^```/)
    #expect(samples.count == 3)
    for sample in samples { #expect(text.contains(Self.unindented(String(sample.1))), "\(sample.1)") }
  }

  @Test func `the sample of a test passes`() async throws {
    let server = try LoopbackServer { _ in .user }
    try await Samples.traced(APIClient(baseURL: server.url, middlewares: .standard()))
  }

  private static func unindented(_ text: String) -> String {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
  }

  @Test func `the observed client sends, and the service closes the outbox when its group ends`() async throws {
    struct Server: Service {
      func run() async throws { throw CancellationError() }
    }
    let scripted = ScriptedTransport()
    scripted.always(.any, .json(#"{"data": {"updateMomentLike": null}}"#))
    let endpoint = try #require(URL(string: "https://bff.example.com/graphql"))
    let logger = Logger(label: "sample") { _ in SwiftLogNoOpLogHandler() }
    let client = try Samples.observed(endpoint: endpoint, transport: scripted, logger: logger)
    let folder = FileManager.default.temporaryDirectory.appending(path: "service-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let likes = UpdateMomentLikeSession(client: client)
    let repo = MomentsRepo(
      getMomentsByUserIDSession: GetMomentsByUserIDSession(client: client), updateMomentLikeSession: likes)
    let timelines = Store<String, MomentsDetails>(.ofStream { _ in .never() })
    let outbox = try Outbox(folder: folder, partition: "0", session: likes)
    await #expect(throws: (any Error).self) {
      try await Samples.run(SocketTransport(), repo, outbox, timelines, Server(), logger: logger)
    }
    _ = try Outbox(folder: folder, partition: "0", session: likes)  // which the first would refuse, were it open
    withExtendedLifetime(outbox) {}
  }
}
