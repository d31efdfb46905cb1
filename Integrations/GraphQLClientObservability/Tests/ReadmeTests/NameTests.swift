import Foundation
import GraphQLClient
import GraphQLClientLogging
import GraphQLClientMetrics
import GraphQLClientSpanRecorder
import GraphQLClientTracing
import HTTPClientCore
import HTTPMiddlewares
import InMemoryLogging
import Logging
import MetricsTestKit
import ObservabilityTestSupport
import Streams
import Testing
import Tracing

/// The README's tables have the names of everything that is recorded, and no others.
@Suite("The README's names", .timeLimit(.minutes(1)))
struct NameTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// What stands in backquotes.
  private static var named: Set<String> {
    get throws {
      let readme = try String(contentsOf: folder.appending(path: "README.md"), encoding: .utf8)
      return Set(readme.matches(of: /`([^`\n]+)`/).map { String($0.1) })
    }
  }

  private static var sources: String {
    get throws {
      let files = FileManager.default.enumerator(at: folder.appending(path: "Sources"), includingPropertiesForKeys: nil)
      var text = ""
      while let file = files?.nextObject() as? URL {
        if file.pathExtension == "swift" { text += try String(contentsOf: file, encoding: .utf8) }
      }
      return text
    }
  }

  @Test func `what requests of all kinds record has a place there`() async throws {
    let (metrics, recorder, handler, ended) = (
      TestMetrics(), SpanRecorder(service: "client"), InMemoryLogHandler(), Ended()
    )
    var logger = Logger(label: "requests") { _ in handler }
    logger.logLevel = .trace
    let server = try LoopbackServer { request in
      switch request.number {
      case 1: .status(503, headers: ["Retry-After": "0"])
      case 3: .cut
      default: .user
      }
    }
    let observers = RequestObservers([
      RequestTracer(recorder), RequestMetrics(factory: metrics), RequestLogger(logger),
    ])
    let client = try Observed.client(server.url, observers, ended: ended)
    _ = try await GetUser().post(on: client).value
    await #expect(throws: (any Error).self) { try await SetName().post(on: client).value }
    try await ended.wait(2)
    var names: Set<String> = []
    for entry in handler.entries { names.formUnion(["\(entry.message)"] + entry.metadata.keys) }
    let series =
      metrics.timers.map { ($0.label, $0.dimensions) } + metrics.recorders.map { ($0.label, $0.dimensions) }
      + metrics.counters.map { ($0.label, $0.dimensions) } + metrics.meters.map { ($0.label, $0.dimensions) }
    for (label, dimensions) in series { names.formUnion([label] + dimensions.map(\.0)) }
    for span in recorder.spans {
      span.attributes.forEach { name, _ in names.insert(name) }
      for event in span.events {
        names.insert(event.name)
        event.attributes.forEach { name, _ in names.insert(name) }
      }
    }
    #expect(names.count > 30)
    #expect(try names.subtracting(Self.named) == [])
  }

  @Test func `each name there is one that the sources have`() throws {
    let sources = try Self.sources
    let names = try Self.named.filter { $0.wholeMatch(of: /[a-z_]+(\.[a-z_]+)+/) != nil && $0 != "graphql.client" }
    #expect(names.count > 30)
    #expect(names.filter { !sources.contains("\"\($0)\"") } == [])
  }

  @Test func `each product builds one library, and nothing of the others`() throws {
    let libraries: [String: Set<String>] = [
      "GraphQLClientConventions": [], "GraphQLClientLogging": ["Logging"], "GraphQLClientMetrics": ["Metrics"],
      "GraphQLClientTracing": ["Instrumentation", "Tracing"], "GraphQLClientSpanRecorder": ["Tracing"],
      "GraphQLClientLifecycle": ["Logging", "ServiceLifecycle"],
    ]
    let own: Set = [
      "HTTPClientCore", "HTTPMiddlewares", "SocketHTTP", "StrictJSON", "Streams", "Synchronization",
      "GraphQLClientConventions",
    ]
    let sources = Self.folder.appending(path: "Sources")
    #expect(Set(try FileManager.default.contentsOfDirectory(atPath: sources.path)) == Set(libraries.keys))
    for (target, expected) in libraries {
      var imported: Set<String> = []
      for name in try FileManager.default.contentsOfDirectory(atPath: sources.appending(path: target).path) {
        let text = try String(contentsOf: sources.appending(path: target).appending(path: name), encoding: .utf8)
        imported.formUnion(text.matches(of: /(?m)^(?:public |package )?import (\w+)/).map { String($0.1) })
      }
      #expect(imported.subtracting(own) == expected, "\(target)")
    }
  }
}
