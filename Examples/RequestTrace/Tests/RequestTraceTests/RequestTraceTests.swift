import Foundation
import GraphQLClientSpanRecorder
import HTTPClientCore
import StrictJSON
import Testing
import Tracing

@testable import RequestTrace

@Suite("The trace of a request", .timeLimit(.minutes(1)))
struct RequestTraceTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let trace = root.appending(path: "Examples/RequestTrace/trace.json")

  @Test func `leads from the caller through the stack and the connection to the server`() async throws {
    let backend = SpanRecorder(service: "backend")
    InstrumentationSystem.bootstrap(backend)
    let app = try await RequestTrace.record(backend: backend)[0]
    let request = try #require(app.spans.first { $0.name == "query getUser" })
    #expect(request.parentID == app.spans.first { $0.name == "open profile" }?.trace.spanID)
    let attempts = app.spans.filter { $0.kind == .client }
    #expect(attempts.map { $0["http.response.status_code"] } == ["503", "200"])
    #expect(attempts.allSatisfy { $0.parentID == request.trace.spanID })
    #expect(
      attempts.map { $0.events.map(\.name) } == [
        [
          "connection.name_resolved", "connection.connected", "connection.secured", "connection.acquired",
          "response.head",
        ], ["connection.acquired", "response.head"],
      ])
    // Hummingbird's own spans, whose parents it has read from the requests.
    let served = backend.spans.filter { $0.kind == .server }.sorted { $0.start < $1.start }
    #expect(served.map(\.parentID) == attempts.map(\.trace.spanID))
    #expect(served.map { $0["http.response.status_code"] } == ["503", "200"])
    let inner = try #require(backend.spans.first { $0.name == "resolve name" })
    #expect(inner.parentID == served.last?.trace.spanID)
    #expect(Set((app.spans + backend.spans).map(\.trace.traceID)).count == 1)
  }

  @Test(arguments: [
    ([], "Usage: RequestTrace FILE"), (["a", "b"], "Usage: RequestTrace FILE"),
    (["/no/such/trace.json"], "'/no/such/trace.json': No such file or directory. Name a file that can be written."),
    (["/"], "'/': Is a directory. Name a file that can be written."), ([""], "'': No such file or directory."),
  ]) func `wrong arguments are one line, and the exit code is 64`(_ arguments: [String], message: String) throws {
    let process = Process()
    let errors = Pipe()
    process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appending(path: "RequestTrace")
    process.arguments = arguments
    process.standardError = errors
    try process.run()
    let line = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 64)
    #expect(line.contains(message))
    #expect(line.filter(\.isNewline).count == 1)
  }

  @Test func `a picture is not drawn where it cannot be written, which one line says`() throws {
    let process = Process()
    let errors = Pipe()
    process.executableURL = Self.root.appending(path: "Scripts/trace-picture")
    process.arguments = [Self.trace.path, "/no/such/trace.svg"]
    process.standardError = errors
    try process.run()
    let line = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 64)
    #expect(line == "trace-picture: /no/such/trace.svg: No such file or directory\n")
  }

  @Test func `the article's picture is drawn from the trace that is kept here`() throws {
    let picture = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).svg")
    defer { try? FileManager.default.removeItem(at: picture) }
    let process = Process()
    process.executableURL = Self.root.appending(path: "Scripts/trace-picture")
    process.arguments = [Self.trace.path, picture.path]
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let shown = Self.root.appending(path: "Sources/GraphQLClient/GraphQLClient.docc/Resources/trace.svg")
    #expect(try Data(contentsOf: picture) == Data(contentsOf: shown))
  }

  @Test func `the trace that is kept here has what a run records`() throws {
    let spans = try JSONValue(json: String(contentsOf: Self.trace, encoding: .utf8)).arrayValue ?? []
    let names = spans.compactMap { $0["name"]?.stringValue }
    #expect(
      names.sorted() == ["/graphql", "/graphql", "POST", "POST", "open profile", "query getUser", "resolve name"])
    #expect(spans.allSatisfy { $0["timestamp"]?.integerValue != nil && $0["duration"]?.integerValue != nil })
  }
}
