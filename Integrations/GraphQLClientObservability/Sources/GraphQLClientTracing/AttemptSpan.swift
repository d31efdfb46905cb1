import GraphQLClientConventions
import HTTPClientCore
import Tracing

/// The span of an attempt.
struct AttemptSpan: Sendable {
  private let span: any Span
  private let clock: SpanClock
  private let start: DefaultTracerClock.Timestamp

  /// Begins the span, and puts its context into the attempt's header fields.
  init(
    _ number: Int, _ request: inout HTTPRequest, below parent: ServiceContext, by tracer: any Tracer, _ clock: SpanClock
  ) {
    self.clock = clock
    let start = clock.now
    self.start = start
    span = tracer.startSpan(request.method.rawValue, context: parent, ofKind: .client, at: start)
    let isRecording = span.isRecording
    span.updateAttributes { [request] attributes in
      attributes[Name.operationName] = request.operationName
      attributes[Name.operationType] = request.operationType?.rawValue
      attributes[Name.method] = request.method.rawValue
      // Only if somebody will read it, since it has to be searched for secrets.
      attributes[Name.url] = isRecording ? request.shownURL : nil
      attributes[Name.scheme] = request.origin.scheme
      attributes[Name.serverAddress] = request.origin.host
      attributes[Name.serverPort] = request.origin.port
      attributes[Name.resendCount] = number > 1 ? number - 1 : nil
    }
    tracer.inject(span.context, into: &request.headers, using: HeaderInjector())
  }

  func end(_ summary: AttemptSummary) {
    addEvents(summary)
    span.updateAttributes { attributes in
      attributes[Name.status] = summary.status
      attributes[Name.errorType] = summary.errorType
      attributes[Name.httpVersion] = summary.httpVersion
      attributes[Name.isConnectionReused] = summary.isConnectionReused
      attributes[Name.requestSize] = summary.sentBytes
      attributes[Name.responseSize] = summary.receivedBytes
    }
    if case .failed(let error) = summary.outcome {
      span.setStatus(SpanStatus(code: .error, message: error.message))
    } else if let status = summary.status, status >= 400 {
      span.setStatus(SpanStatus(code: .error))
    }
    let end = start.advanced(by: summary.duration)
    clock.keep(end)
    span.end(at: end)
  }

  /// Ends the span of an attempt whose end was not reported.
  func end() { span.end(at: clock.now) }

  private func addEvents(_ summary: AttemptSummary) {
    if let opening = summary.connectionOpening, let connectTime = summary.connectTime {
      // A connection that was opened for another attempt may be older than this one.
      var time = connectTime - opening.idle - opening.total
      for (name, step) in [
        ("connection.name_resolved", opening.lookUp), ("connection.connected", opening.connect),
        ("connection.tunnelled", opening.tunnel), ("connection.secured", opening.tls),
      ] {
        guard let step else { continue }
        time += step
        if time >= .zero { add(name, at: time, [Name.duration: .seconds(step)]) }
      }
    }
    if let time = summary.connectTime { add("connection.acquired", at: time) }
    if let time = summary.firstByteTime { add("response.head", at: time) }
  }

  private func add(_ name: String, at time: Duration, _ attributes: SpanAttributes = [:]) {
    span.addEvent(SpanEvent(name: name, at: start.advanced(by: time), attributes: attributes))
  }
}
