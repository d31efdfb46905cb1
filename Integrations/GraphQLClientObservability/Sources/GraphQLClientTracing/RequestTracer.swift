import GraphQLClientConventions
public import HTTPClientCore
import Instrumentation
import Synchronization
public import Tracing

/// Traces requests with swift-distributed-tracing, as OpenTelemetry's conventions for HTTP clients have it.
///
/// A request is a span of the kind `internal`, named after its operation, such as `query getUser`, below the span of the
/// task that subscribes. What the stack does is its events: that it waited in line, that it will be sent again and why. Each
/// attempt is a span of the kind `client` below it, whose context travels to the server in the attempt's header fields: the
/// server's span is below that of the attempt it responded to. The events of an attempt are the steps in which its
/// connection was opened, the connection's being there, and the head of the response. The README lists all names.
///
/// Spans contain no secret: no body, no value of a header or of a query, and addresses and errors without what the request
/// has sent in confidence.
public struct RequestTracer: RequestObserver {
  private let tracer: (any Tracer)?

  /// Takes the tracer; by default, the process's own at the time of each request.
  public init(_ tracer: (any Tracer)? = nil) {
    self.tracer = tracer
  }

  /// Traces a request.
  public func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    let tracer = tracer ?? InstrumentationSystem.tracer
    let clock = SpanClock()
    let span = tracer.startSpan(request.spanName, ofKind: .internal, at: clock.now)
    span.updateAttributes { attributes in
      attributes[Name.operationName] = request.operationName
      attributes[Name.operationType] = request.operationType?.rawValue
      attributes[Name.serverAddress] = request.origin.host
      attributes[Name.serverPort] = request.origin.port
    }
    // For observers that come later, such as logs; each attempt carries its own.
    tracer.inject(span.context, into: &request.headers, using: HeaderInjector())
    let attempts = AttemptTable<AttemptSpan>()
    request.addOnAttempt { number, request in
      let attempt = AttemptSpan(number, &request, below: span.context, by: tracer, clock)
      if !attempts.begin(number, attempt) { attempt.end() }
    }
    let add: @Sendable (String, SpanAttributes) -> Void = { name, attributes in
      span.addEvent(SpanEvent(name: name, at: clock.now, attributes: attributes))
    }
    return { event in
      switch event {
      case .dequeued(let wait): add("dequeued", [Name.queueDuration: .seconds(wait)])
      case .retrying(let delay, let reason):
        add("retry", [Name.errorType: .string(reason.errorType), Name.delay: .seconds(delay)])
      case .hedging: add("hedge", [:])
      case .challenged: add("token rejected", [:])
      case .redirected(let status): add("redirect", [Name.status: .int64(Int64(status))])
      case .servedFromCache: add("served from cache", [:])
      case .attemptEnded(let summary): attempts.end(summary.number)?.end(summary)
      case .ended(let summary):
        for attempt in attempts.endAll() { attempt.end() }
        span.end(summary, at: clock.end)
      default: break
      }
    }
  }
}

extension HTTPRequest {
  /// The operation, such as `query getUser`, or else the method.
  fileprivate var spanName: String {
    guard let operationName else { return method.rawValue }
    return operationType.map { "\($0.rawValue) \(operationName)" } ?? operationName
  }
}

extension Span {
  /// Ends the span of a request.
  fileprivate func end(_ summary: RequestSummary, at end: DefaultTracerClock.Timestamp) {
    updateAttributes { attributes in
      attributes[Name.attempts] = summary.attemptCount
      attributes[Name.status] = summary.status
      attributes[Name.errorType] = summary.errorType
    }
    // A cancellation is the caller's wish, and no error of the request.
    if case .failed(let error) = summary.outcome { setStatus(SpanStatus(code: .error, message: error.message)) }
    self.end(at: end)
  }
}

/// The clock of a request's spans: the time of day when the request began, and the time that has passed since then, whatever
/// the machine's clock is set to meanwhile.
final class SpanClock: Sendable {
  private let begin = DefaultTracerClock.now.nanosecondsSinceEpoch
  private let start = ContinuousClock.now
  /// The latest end of an attempt. It may lie a little ahead: the duration of an attempt contains what passes until its span
  /// begins.
  private let latest = Mutex<UInt64>(0)

  var now: DefaultTracerClock.Timestamp {
    DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: begin).advanced(by: start.duration(to: .now))
  }

  /// The end of the request's span, which contains those of its attempts.
  var end: DefaultTracerClock.Timestamp {
    DefaultTracerClock.Timestamp(
      nanosecondsSinceEpoch: max(now.nanosecondsSinceEpoch, latest.withLock { $0 }))
  }

  /// Keeps the end of an attempt.
  func keep(_ end: DefaultTracerClock.Timestamp) {
    latest.withLock { $0 = max($0, end.nanosecondsSinceEpoch) }
  }
}

extension DefaultTracerClock.Timestamp {
  /// The time after this one; a duration below zero counts as zero.
  func advanced(by duration: Duration) -> Self {
    Self(nanosecondsSinceEpoch: nanosecondsSinceEpoch &+ UInt64(clamping: Int64(duration / .nanoseconds(1))))
  }
}

extension SpanAttribute {
  /// A duration in seconds.
  static func seconds(_ duration: Duration) -> SpanAttribute { .double(duration / .seconds(1)) }
}

/// Puts a tracer's context into header fields; what is not a valid header is left out.
struct HeaderInjector: Injector {
  func inject(_ value: String, forKey key: String, into headers: inout HTTPHeaders) {
    try? headers.set(key, to: value)
  }
}
