public import HTTPClientCore
public import Metrics

/// Measures requests with swift-metrics. Operation, outcome and status are the dimensions: they have few values, which
/// keeps the number of series low.
///
/// Durations and sizes have OpenTelemetry's names for HTTP clients; `http.client.retries`, `http.client.queue.duration`
/// and the dimensions are this example's own.
public struct RequestMetrics: RequestObserver {
  private let factory: (any MetricsFactory)?

  /// Takes the factory; by default, the process's own.
  public init(factory: (any MetricsFactory)? = nil) {
    self.factory = factory
  }

  /// Measures a request.
  public func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    let operation = request.operationName ?? "unnamed"
    let factory = factory ?? MetricsSystem.factory
    return { event in
      switch event {
      case .retrying(_, let reason):
        let dimensions = [("operation", operation), ("reason", reason.status.map(String.init) ?? "\(reason.kind)")]
        Counter(label: "http.client.retries", dimensions: dimensions, factory: factory).increment()
      case .ended(let summary):
        let dimensions = [
          ("operation", operation), ("outcome", summary.outcome.label),
          ("status", summary.status.map(String.init) ?? "none"),
        ]
        Timer(label: "http.client.request.duration", dimensions: dimensions, factory: factory)
          .recordNanoseconds(summary.duration.nanoseconds)
        Timer(label: "http.client.queue.duration", dimensions: dimensions, factory: factory)
          .recordNanoseconds(summary.queueTime.nanoseconds)
        Recorder(label: "http.client.request.body.size", dimensions: dimensions, factory: factory)
          .record(summary.sentBytes)
        Recorder(label: "http.client.response.body.size", dimensions: dimensions, factory: factory)
          .record(summary.receivedBytes)
      default: break
      }
    }
  }
}

extension Duration {
  fileprivate var nanoseconds: Int64 { Int64(self / .nanoseconds(1)) }
}
