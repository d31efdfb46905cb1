public import HTTPMiddlewares
public import Logging

extension LoggingMiddleware {
  /// Writes the middleware's lines to a logger of swift-log: one when a request is sent, one when it ends, without
  /// secrets. ``RequestLogger`` writes events with metadata instead, and sees all attempts of a request.
  public init(_ logger: Logger, level: Logger.Level = .debug, detail: Detail = .lines) {
    self.init(detail: detail) { line in logger.log(level: level, "\(line)") }
  }
}
