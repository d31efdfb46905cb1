import Foundation
import GraphQLClient
import HTTPMiddlewares
import Hummingbird
import Logging
import Observability
import ServiceLifecycle
import SocketHTTP
import Tracing

import struct HTTPClientCore.RequestObservers

/// Serves timelines until SIGTERM or Ctrl-C. It reads the environment: `BFF_URL` is the GraphQL endpoint, `PORT` the port
/// of 127.0.0.1 (8080 unless set, 0 for any), `STALE_TIME` for how many seconds a timeline counts as fresh (5),
/// `CHECK_INTERVAL` after how many seconds the BFF has to accept a visitor's token again (30), and `LOG_LEVEL` (info).
@main
struct TimelineServer {
  static func main() async throws {
    let environment = ProcessInfo.processInfo.environment
    guard let bff = environment["BFF_URL"].flatMap({ URL(string: $0) }) else {
      print("Set BFF_URL to the URL of the GraphQL endpoint.")
      exit(64)
    }
    let port = environment["PORT"].flatMap { Int($0) } ?? 8080
    let seconds = { (name: String, usual: Double) in Duration.seconds(environment[name].flatMap { Double($0) } ?? usual)
    }
    var logger = Logger(label: "timelines")
    logger.logLevel = environment["LOG_LEVEL"].flatMap { Logger.Level(rawValue: $0) } ?? .info

    // One transport and one client for the process.
    let transport = SocketTransport()
    var client = try APIClient(baseURL: bff, transport: transport, middlewares: .standard())
    client.observer = RequestObservers([
      RequestLogger(logger), RequestMetrics(), RequestTracer(InstrumentationSystem.tracer),
    ])
    let timelines = Timelines(client: client, staleTime: seconds("STALE_TIME", 5))
    let application = Application(
      router: router(timelines, Visitors(checkInterval: seconds("CHECK_INTERVAL", 30))),
      configuration: .init(address: .hostname("127.0.0.1", port: port), serverName: "timelines"),
      services: [Backend(timelines: timelines, transport: transport)],
      onServerRunning: { [logger] channel in logger.notice("listening on port \(channel.localAddress?.port ?? port)") },
      logger: logger)
    try await application.runService()
  }
}

/// What is between this server and the BFF. The server, which is started after it, is stopped before it: by then all
/// responses have been sent.
private struct Backend: Service {
  let timelines: Timelines
  let transport: SocketTransport

  func run() async throws {
    try await gracefulShutdown()
    await timelines.close()
    await transport.shutdown(within: .seconds(10))
  }
}
