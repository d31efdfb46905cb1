import Foundation
import HTTPMiddlewares
import Hummingbird
import Logging
import Networking
import Observability
import ServiceLifecycle
import SocketHTTP

import struct HTTP.RequestObservers

/// Serves timelines until SIGTERM or Ctrl-C. It reads the environment: `BFF_URL` is the GraphQL endpoint, `PORT` the port
/// of 127.0.0.1 (8080 unless set, 0 for any), `STALE_TIME` for how many seconds a timeline counts as fresh (5).
@main
struct TimelineServer {
  static func main() async throws {
    let environment = ProcessInfo.processInfo.environment
    guard let bff = environment["BFF_URL"].flatMap({ URL(string: $0) }) else {
      print("Set BFF_URL to the URL of the GraphQL endpoint.")
      exit(64)
    }
    let port = environment["PORT"].flatMap { Int($0) } ?? 8080
    let staleTime: Double = environment["STALE_TIME"].flatMap { Double($0) } ?? 5
    let logger = Logger(label: "timelines")

    // One transport and one client for the process.
    let transport = SocketTransport()
    var client = try APIClient(baseURL: bff, transport: transport, middlewares: .standard())
    client.observer = RequestObservers([RequestLogger(logger), RequestMetrics()])
    let application = Application(
      router: router(Timelines(client: client, staleTime: .seconds(staleTime)), Visitors()),
      configuration: .init(address: .hostname("127.0.0.1", port: port), serverName: "timelines"),
      services: [Connections(transport: transport)],
      onServerRunning: { channel in logger.notice("listening on port \(channel.localAddress?.port ?? port)") },
      logger: logger)
    try await application.runService()
  }
}

/// The connections to the BFF. The server, which is started after them, is stopped before them: by then all responses
/// have been sent.
private struct Connections: Service {
  let transport: SocketTransport

  func run() async throws {
    try await gracefulShutdown()
    await transport.shutdown(within: .seconds(10))
  }
}
