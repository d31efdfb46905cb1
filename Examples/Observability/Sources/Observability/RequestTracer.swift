public import HTTPClientCore
import Instrumentation
public import Tracing

/// Traces requests with swift-distributed-tracing: each gets a client span below the span of the task that subscribes,
/// and the span's context travels to the server in the request's headers. Attempts are events of the span.
public struct RequestTracer: RequestObserver {
  private let tracer: any Tracer

  /// Takes the tracer.
  public init(_ tracer: any Tracer) {
    self.tracer = tracer
  }

  /// Traces a request.
  public func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    let span = tracer.startAnySpan(request.operationName ?? "request", ofKind: .client)
    span.attributes["http.request.method"] = request.method.rawValue
    span.attributes["server.address"] = request.origin.host
    span.attributes["server.port"] = request.origin.port
    tracer.inject(span.context, into: &request.headers, using: HeaderInjector())
    return { event in
      switch event {
      case .attemptStarted(let number):
        span.addEvent(SpanEvent(name: "attempt", attributes: ["http.request.resend_count": .int64(Int64(number - 1))]))
      case .retrying(_, let reason):
        span.addEvent(SpanEvent(name: "retry", attributes: ["reason": .string(reason.kind.description)]))
      case .ended(let summary):
        if let status = summary.status { span.attributes["http.response.status_code"] = status }
        if case .failed(let error) = summary.outcome {
          span.attributes["error.type"] = error.kind.description
          span.setStatus(SpanStatus(code: .error, message: error.message))
        }
        span.end()
      default: break
      }
    }
  }
}

/// Puts a tracer's context into header fields; what is not a valid header is left out.
private struct HeaderInjector: Injector {
  func inject(_ value: String, forKey key: String, into headers: inout HTTPHeaders) {
    try? headers.set(key, to: value)
  }
}
