import Foundation
import GraphQLClient
import GraphQLClientLifecycle
import GraphQLClientLogging
import GraphQLClientMetrics
import GraphQLClientTracing
import HTTPMiddlewares
import Hummingbird
import Logging
import ServiceLifecycle
import SocketHTTP
import Streams
import Synchronization
import Tracing

import struct HTTPClientCore.RequestObservers

/// Serves timelines until SIGTERM or Ctrl-C, as ``Settings`` say.
@main
struct TimelineServer {
  static func main() async {
    let isListening = Atomic(false)
    do {
      let settings = try Settings(ProcessInfo.processInfo.environment)
      let application = try application(settings) { isListening.store(true, ordering: .relaxed) }
      do {
        try await application.runService()
      } catch let error where !isListening.load(ordering: .relaxed) {
        throw SettingsError(cannotListen: error, settings)
      }
    } catch {
      // Without a setting that can be used, or the address that is set, there is nothing to try again.
      let hasStarted = isListening.load(ordering: .relaxed)
      FileHandle.standardError.write(Data("TimelineServer: \(error)\n".utf8))
      exit(hasStarted ? 70 : 64)
    }
  }

  private static func application(
    _ settings: Settings, onListening: @escaping @Sendable () -> Void
  ) throws -> some ApplicationProtocol {
    var logger = Logger(label: "timelines")
    logger.logLevel = settings.logLevel

    // One transport and one client for the process.
    let transport = SocketTransport()
    var client = try APIClient(baseURL: settings.backend, transport: transport, middlewares: .standard())
    client.observer = RequestObservers([RequestTracer(), RequestMetrics(), RequestLogger(logger)])
    let timelines = Timelines(client: client, staleTime: settings.staleTime)
    // All browsers share them.
    let figures = Observable.every(.seconds(1)) { Figures(timelines, transport) }
      .distinctUntilChanged().share(replay: 1)
    return Application(
      router: router(timelines, Visitors(checkInterval: settings.checkInterval), figures),
      configuration: .init(address: .hostname(settings.host, port: settings.port), serverName: "timelines"),
      // The server, which is started after it, is stopped before it: by then all responses have been sent.
      services: [ClientService(transport, logger: logger).closing("timelines") { await timelines.close() }],
      onServerRunning: { [logger] channel in
        onListening()
        logger.notice("listening on port \(channel.localAddress?.port ?? settings.port)")
      },
      logger: logger)
  }
}
