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
/// What it is told holds no secret: no body, no header value and no query, and errors without what the request kept
/// secret. The request itself, which `begin` gets, may hold some.
public protocol RequestObserver: Sendable {
  /// Called when a request begins, on the thread that subscribes, where its task-local values are. It may change header
  /// fields: a tracer puts its context there, such as a ``TraceContext``. The SDK sends none by itself: a `traceparent`
  /// without a tracer behind it would make servers record a trace that has no beginning.
  ///
  /// What it gives is called with each event of this request, one at a time, on the threads of the exchanges; it must not
  /// block. The last event is `ended`, always, and once.
  func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void
}
