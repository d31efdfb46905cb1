import Foundation
import GraphQLClientSpanRecorder
import StrictJSON
import Tracing

/// Sends a query to a server whose first response is a 503, and writes the trace of both as a file that Zipkin and Jaeger
/// read: `RequestTrace FILE`.
@main
enum RequestTrace {
  static func main() async {
    guard CommandLine.arguments.count == 2 else {
      FileHandle.standardError.write(Data("Usage: RequestTrace FILE\n".utf8))
      exit(64)
    }
    do {
      let backend = SpanRecorder(service: "backend")
      // The server's middleware uses the process's tracer.
      InstrumentationSystem.bootstrap(backend)
      let recorders = try await record(backend: backend)
      let trace = try RawJSON(SpanRecorder.zipkin(recorders))
      try Data((trace.indented + "\n").utf8).write(to: URL(filePath: CommandLine.arguments[1]))
      for recorder in recorders { print("\(recorder.service): \(recorder.spans.count) spans") }
    } catch {
      FileHandle.standardError.write(Data("RequestTrace: \(error)\n".utf8))
      exit(70)
    }
  }

  /// The spans of the client and of the backend, whose tracer is the process's own.
  static func record(backend: SpanRecorder) async throws -> [SpanRecorder] {
    let app = SpanRecorder(service: "app")
    let certificate = try ServerCertificate()
    defer { certificate.remove() }
    try await Backend.run(certificate) { port in
      let client = try Client(port: port, trusting: certificate, app)
      try await app.withSpan("open profile") { _ in _ = try await client.name() }
      await client.end()
    }
    return [app, backend]
  }
}
