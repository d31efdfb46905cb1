import Foundation
import GraphQLClientSpanRecorder
import StrictJSON
import Tracing

/// Sends a query to a server whose first response is a 503, and writes the trace of both as a file that Zipkin and Jaeger
/// read: `RequestTrace FILE`.
@main
enum RequestTrace {
  static func main() async {
    guard CommandLine.arguments.count == 2 else { end("Usage: RequestTrace FILE", EX_USAGE) }
    let path = CommandLine.arguments[1]
    // Before anything is done, since the path may be wrong.
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      let reason = String(cString: strerror(errno))
      end("RequestTrace: cannot write to '\(path)': \(reason). Name a file that can be written.", EX_USAGE)
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      let backend = SpanRecorder(service: "backend")
      // The server's middleware uses the process's tracer.
      InstrumentationSystem.bootstrap(backend)
      let recorders = try await record(backend: backend)
      let trace = try RawJSON(SpanRecorder.zipkin(recorders))
      try file.write(contentsOf: Data((trace.indented + "\n").utf8))
      for recorder in recorders { print("\(recorder.service): \(recorder.spans.count) spans") }
    } catch {
      end("RequestTrace: \(error)", EX_SOFTWARE)
    }
  }

  private static func end(_ line: String, _ code: Int32) -> Never {
    FileHandle.standardError.write(Data((line + "\n").utf8))
    exit(code)
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
