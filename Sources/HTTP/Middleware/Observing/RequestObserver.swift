/// Is told what happens to requests, for logs, metrics and traces.
///
///     struct Counter: RequestObserver {
///       func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
///         let name = request.operationName ?? "unnamed"
///         return { event in
///           if case .ended(let summary) = event { count(name, summary.status, summary.duration) }
///         }
///       }
///     }
///
/// Events contain no secrets: no body, no header value and no query, and errors are redacted. The request itself, which
/// `begin` gets, may contain secrets.
public protocol RequestObserver: Sendable {
  /// Called when a request begins, on the subscribing thread, so the subscriber's task-local values are available. It
  /// may change header fields: a tracer puts its context there, such as a ``TraceContext``. The SDK sends none by
  /// itself: a `traceparent` without a tracer behind it would make servers record a trace that has no beginning.
  ///
  /// The closure that it returns is called with each event of this request, one at a time, on the threads of the
  /// exchanges; it must not block. The last event is always `ended`, and comes exactly once.
  func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void
}
