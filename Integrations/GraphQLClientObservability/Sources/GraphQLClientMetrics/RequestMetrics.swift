import GraphQLClientConventions
public import HTTPClientCore
public import Metrics

/// Measures requests with swift-metrics, under OpenTelemetry's names for HTTP clients; those that begin with
/// `graphql.client` are the SDK's own, for requests with all their attempts. The README lists them.
///
/// A metric always has the same labels: one that does not apply is empty, since backends such as Prometheus refuse series
/// of one name with different labels. Their values are bounded: statuses, kinds of errors and methods by nature, names of
/// operations and addresses of servers by a limit, after which the value is `_OTHER`. No label holds anything else of a
/// request, and so no secret.
public struct RequestMetrics: RequestObserver {
  private let factory: (any MetricsFactory)?
  private let operations: BoundedValues
  private let servers: BoundedValues

  /// Takes the factory, by default the process's own at the time of each request, and how many operations and servers are
  /// distinguished. Copies share their limits.
  public init(factory: (any MetricsFactory)? = nil, operations: Int = 200, servers: Int = 50) {
    self.factory = factory
    self.operations = BoundedValues(limit: operations)
    self.servers = BoundedValues(limit: servers)
  }

  /// Measures a request.
  public func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    let factory = factory ?? MetricsSystem.factory
    let operation = [
      (Name.operationName, request.operationName.map(operations.bounded) ?? ""),
      (Name.operationType, request.operationType?.rawValue ?? ""),
    ]
    let entry = place(of: request)
    let places = AttemptTable<[(String, String)]>()
    request.addOnAttempt { [self] number, request in places.begin(number, place(of: request)) }
    let active = Meter(label: "http.client.active_requests", dimensions: entry, factory: factory)
    active.increment()
    return { event in
      switch event {
      case .retrying(_, let reason):
        let labels = operation + [(Name.errorType, reason.errorType)]
        Counter(label: "graphql.client.retries", dimensions: labels, factory: factory).increment()
      case .servedFromCache:
        Counter(label: "graphql.client.cache.hits", dimensions: operation, factory: factory).increment()
      case .attemptEnded(let attempt):
        record(attempt, operation + (places.end(attempt.number) ?? entry), by: factory)
      case .ended(let summary):
        active.decrement()
        let labels = operation + [(Name.errorType, summary.errorType ?? "")]
        factory.record(summary.duration, as: "graphql.client.request.duration", labels)
        factory.record(summary.queueTime, as: Name.queueDuration, labels)
      default: break
      }
    }
  }

  private func record(_ attempt: AttemptSummary, _ labels: [(String, String)], by factory: any MetricsFactory) {
    let labels =
      labels + [
        (Name.status, attempt.status.map(String.init) ?? ""), (Name.errorType, attempt.errorType ?? ""),
        (Name.httpVersion, attempt.httpVersion ?? ""),
      ]
    factory.record(attempt.duration, as: "http.client.request.duration", labels)
    Recorder(label: "http.client.request.body.size", dimensions: labels, factory: factory).record(attempt.sentBytes)
    Recorder(label: "http.client.response.body.size", dimensions: labels, factory: factory)
      .record(attempt.receivedBytes)
  }

  /// Where a request is sent, and by which method.
  private func place(of request: HTTPRequest) -> [(String, String)] {
    let origin = request.origin
    let isKnown = servers.bounded("\(origin)") != Name.other
    return [
      (Name.method, Self.methods.contains(request.method.rawValue) ? request.method.rawValue : Name.other),
      (Name.scheme, origin.scheme),
      (Name.serverAddress, isKnown ? origin.host : Name.other), (Name.serverPort, isKnown ? "\(origin.port)" : ""),
    ]
  }

  /// The methods that OpenTelemetry distinguishes: those of RFC 9110 and `PATCH`.
  private static let methods: Set = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
  ]
}

extension MetricsFactory {
  fileprivate func record(_ duration: Duration, as label: String, _ labels: [(String, String)]) {
    Timer(label: label, dimensions: labels, preferredDisplayUnit: .seconds, factory: self)
      .recordNanoseconds(Int64(duration / .nanoseconds(1)))
  }
}
