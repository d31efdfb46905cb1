import Hummingbird
import HummingbirdTLS
import Logging
import NIOCore
import NIOSSL
import Synchronization
import Tracing

/// A GraphQL server on Hummingbird that is overloaded at first.
enum Backend {
  /// Serves on a free port until the closure returns.
  static func run(_ certificate: ServerCertificate, _ body: @escaping @Sendable (Int) async throws -> Void) async throws
  {
    let router = Router()
    router.add(middleware: TracingMiddleware())
    let count = Atomic(0)
    router.post("/graphql") { _, _ -> Response in
      guard count.add(1, ordering: .relaxed).newValue > 1 else {
        return Response(status: .serviceUnavailable, headers: [.retryAfter: "0"])
      }
      let name = try await withSpan("resolve name") { _ in
        // As long as a database might take.
        try await Task.sleep(for: .milliseconds(8))
        return "Wei"
      }
      return Response(
        status: .ok, headers: [.contentType: "application/json"],
        body: .init(byteBuffer: ByteBuffer(string: #"{"data":{"name":"\#(name)"}}"#)))
    }
    var tls = TLSConfiguration.makeServerConfiguration(
      certificateChain: try NIOSSLCertificate.fromPEMFile(certificate.certificate).map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(file: certificate.key, format: .pem)))
    tls.applicationProtocols = ["http/1.1"]
    let (ports, ready) = AsyncStream.makeStream(of: Int.self)
    let application = Application(
      router: router, server: try .tls(tlsConfiguration: tls),
      configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { channel in
        ready.yield(channel.localAddress?.port ?? 0)
        ready.finish()
      },
      logger: Logger(label: "backend") { _ in SwiftLogNoOpLogHandler() })
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await application.run() }
      for await port in ports { try await body(port) }
      group.cancelAll()
      try await group.waitForAll()
    }
  }
}
