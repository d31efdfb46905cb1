public import Logging
public import ServiceLifecycle
public import SocketHTTP
public import Streams

/// What a client does beside requests, as a service of swift-service-lifecycle: it follows subscriptions while the
/// process runs, and ends everything in order, within a limit.
///
/// A service group shuts down the last of its services first, so this one stands before those that use the client. At
/// a graceful shutdown it ends the subscriptions, then runs the closing steps in the order in which they were added,
/// and then shuts the transport down, which lets requests in flight finish. When the limit is over, the requests that
/// are still in flight fail with `connectionLost`, so that nothing waits for them any more.
///
/// A subscription that fails ends the service with its error, after the same steps; what the group does then is its
/// configuration's `failureTerminationBehavior`. One that completes is logged.
public struct ClientService: Service, CustomStringConvertible {
  private struct Subscription: Sendable {
    let name: String
    let follow: @Sendable () async throws -> Void
  }

  private struct Step: Sendable {
    let name: String
    let close: @Sendable () async -> Void
  }

  /// The name in the service group's logs.
  public var description: String { "ClientService" }

  private let limit: Duration
  private let logger: Logger
  private let shutDown: @Sendable (Duration) async -> Void
  private var subscriptions: [Subscription] = []
  private var steps: [Step] = []

  /// Makes the service of a transport. The limit is the most time that the end takes.
  public init(_ transport: SocketTransport, endsWithin limit: Duration = .seconds(10), logger: Logger) {
    self.init(endsWithin: limit, logger: logger) { await transport.shutdown(within: $0) }
  }

  init(endsWithin limit: Duration, logger: Logger, shutDown: @escaping @Sendable (Duration) async -> Void) {
    self.limit = limit
    self.logger = logger
    self.shutDown = shutDown
  }

  /// Also follows a stream, such as what `Store.follow` gives, until the service ends.
  public func following(_ name: String, _ stream: Observable<some Sendable>) -> ClientService {
    var service = self
    service.subscriptions.append(Subscription(name: name) { for try await _ in stream.values {} })
    return service
  }

  /// Also does this at the end: for example, `await outbox.flush()` and `await outbox.close()`, or `await store.close()`.
  public func closing(_ name: String, _ close: @escaping @Sendable () async -> Void) -> ClientService {
    var service = self
    service.steps.append(Step(name: name, close: close))
    return service
  }

  /// Runs until a graceful shutdown, the task's cancellation, or the failure of a subscription.
  public func run() async throws {
    do {
      try await follow()
    } catch {
      // A cancelled task has no time to wait for the requests in flight.
      await end(within: error is CancellationError ? .zero : limit)
      throw error
    }
    await end(within: limit)
  }

  /// Follows the subscriptions until a graceful shutdown.
  private func follow() async throws {
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await gracefulShutdown()
        return true
      }
      for subscription in subscriptions {
        group.addTask { [logger] in
          do {
            try await subscription.follow()
          } catch  where !(error is CancellationError) {
            logger.error(
              "subscription failed", metadata: ["subscription": "\(subscription.name)", "error": "\(error)"])
            throw error
          }
          if !Task.isCancelled {
            logger.notice("subscription completed", metadata: ["subscription": "\(subscription.name)"])
          }
          return false
        }
      }
      defer { group.cancelAll() }
      for try await isShutdown in group where isShutdown { return }
    }
  }

  private func end(within limit: Duration) async {
    let clock = ContinuousClock()
    let deadline = clock.now + limit
    let cut = Task { [shutDown, logger] in
      try await clock.sleep(until: deadline)
      logger.warning("the limit is over: requests in flight are given up", metadata: ["limit": "\(limit)"])
      await shutDown(.zero)
    }
    for step in steps {
      logger.debug("closing", metadata: ["step": "\(step.name)"])
      await step.close()
    }
    cut.cancel()
    await shutDown(max(.zero, deadline - clock.now))
  }
}
