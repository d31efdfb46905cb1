import GraphQLClientConventions
public import HTTPClientCore
public import Logging

/// Logs requests with swift-log: each attempt at `debug`, what the stack does about it at `notice`, and each end at `info`
/// or, after a failure, at `error`.
///
/// The metadata has OpenTelemetry's names, as the README lists them, and contains no secret: no body, no value of a header
/// or of a query, and errors without what the request has sent in confidence. A request that is part of a trace has
/// `trace_id` and `span_id`: in ``HTTPClientCore/RequestObservers``, put the tracer before the logger.
///
/// Logs are written on the threads of the exchanges: a handler that blocks delays responses.
public struct RequestLogger: RequestObserver {
  private let logger: Logger

  /// Takes the logger, whose level and metadata also count.
  public init(_ logger: Logger) {
    self.logger = logger
  }

  /// Logs the events of a request.
  public func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    var logger = logger
    logger[metadataKey: Name.operationName] = request.operationName.map { "\($0)" }
    logger[metadataKey: Name.operationType] = request.operationType.map { "\($0.rawValue)" }
    logger[metadataKey: Name.method] = "\(request.method)"
    logger[metadataKey: Name.serverAddress] = "\(request.origin.host)"
    logger[metadataKey: Name.serverPort] = "\(request.origin.port)"
    if let trace = request.headers[TraceContext.fieldName].flatMap({ TraceContext($0) }) {
      logger[metadataKey: "trace_id"] = "\(trace.traceID)"
      logger[metadataKey: "span_id"] = "\(trace.spanID)"
    }
    return { [logger] event in
      switch event {
      case .attemptEnded(let attempt):
        logger.debug("attempt ended", metadata: attempt.metadata)
      case .retrying(let delay, let reason):
        logger.notice(
          "retrying",
          metadata: [
            Name.delay: "\(delay)", Name.errorType: "\(reason.errorType)", "error.message": "\(reason.message)",
          ])
      case .hedging:
        logger.notice("slow, and sent a second time")
      case .challenged:
        logger.notice("token rejected")
      case .redirected(let status):
        logger.notice("redirected", metadata: [Name.status: "\(status)"])
      case .servedFromCache(let source):
        logger.debug("served from a cache", metadata: ["graphql.client.source": "\(source)"])
      case .ended(let summary):
        let level: Logger.Level = if case .failed = summary.outcome { .error } else { .info }
        logger.log(level: level, "request ended", metadata: summary.metadata)
      default: break
      }
    }
  }
}

extension AttemptSummary {
  fileprivate var metadata: Logger.Metadata {
    var metadata: Logger.Metadata = [
      Name.resendCount: "\(number - 1)", Name.duration: "\(duration)", Name.requestSize: "\(sentBytes)",
      Name.responseSize: "\(receivedBytes)",
    ]
    metadata[Name.status] = status.map { "\($0)" }
    metadata[Name.errorType] = errorType.map { "\($0)" }
    metadata[Name.httpVersion] = httpVersion.map { "\($0)" }
    metadata[Name.isConnectionReused] = isConnectionReused.map { "\($0)" }
    metadata["graphql.client.connection.opening"] = connectionOpening.map { "\($0)" }
    metadata["graphql.client.first_byte"] = firstByteTime.map { "\($0)" }
    return metadata
  }
}

extension RequestSummary {
  fileprivate var metadata: Logger.Metadata {
    var metadata: Logger.Metadata = [
      Name.attempts: "\(attemptCount)", Name.duration: "\(duration)", Name.queueDuration: "\(queueTime)",
      Name.requestSize: "\(sentBytes)", Name.responseSize: "\(receivedBytes)",
    ]
    metadata[Name.status] = status.map { "\($0)" }
    metadata[Name.errorType] = errorType.map { "\($0)" }
    if case .failed(let error) = outcome { metadata["error.message"] = "\(error.message)" }
    return metadata
  }
}
