public import HTTPClientCore
public import Logging

/// Logs requests with swift-log: each attempt at `debug`, each retry at `notice`, and each end at `info` or, after a
/// failure, at `error`.
public struct RequestLogger: RequestObserver {
  private let logger: Logger

  /// Takes the logger.
  public init(_ logger: Logger) {
    self.logger = logger
  }

  /// Logs the events of a request, with its operation, its origin and, if it is part of one, its trace.
  public func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    var logger = logger
    logger[metadataKey: "operation"] = "\(request.operationName ?? "unnamed")"
    logger[metadataKey: "origin"] = "\(request.origin)"
    if let trace = request.headers[TraceContext.fieldName].flatMap({ TraceContext($0) }) {
      logger[metadataKey: "trace"] = "\(trace.traceID)"
    }
    return { [logger] event in
      switch event {
      case .attemptEnded(let attempt):
        logger.debug("attempt ended", metadata: attempt.metadata)
      case .retrying(let delay, let reason):
        logger.notice("retrying", metadata: ["delay": "\(delay)", "reason": "\(reason.message)"])
      case .challenged:
        logger.notice("token turned down")
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
      "attempt": "\(number)", "outcome": "\(outcome.label)", "duration": "\(duration)",
      "received_bytes": "\(receivedBytes)",
    ]
    metadata["status"] = status.map { "\($0)" }
    metadata["first_byte"] = firstByteTime.map { "\($0)" }
    metadata["reused"] = isConnectionReused.map { "\($0)" }
    return metadata
  }
}

extension RequestSummary {
  fileprivate var metadata: Logger.Metadata {
    var metadata: Logger.Metadata = [
      "attempts": "\(attemptCount)", "outcome": "\(outcome.label)", "duration": "\(duration)",
      "queue": "\(queueTime)", "sent_bytes": "\(sentBytes)", "received_bytes": "\(receivedBytes)",
    ]
    metadata["status"] = status.map { "\($0)" }
    if case .failed(let error) = outcome { metadata["error"] = "\(error.message)" }
    return metadata
  }
}
