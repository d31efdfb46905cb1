public import HTTPClientCore
public import Streams
import SystemBase

/// Logs each exchange as lines of text: what is sent, and how it ended.
///
///     #7 getUser -> POST https://api.example.com/graphql, 120 bytes
///     #7 getUser <- 200, 345 bytes, 12 ms
///
/// The number, which the middleware counts from 1, ties the lines of one exchange together. A line contains method,
/// address, operation, status, sizes and times. Bodies, the values of URL queries, and the values of headers that are
/// not known to be public are never shown, so a log contains no secret. It also hides the secrets of the request, and the
/// token that an ``AuthMiddleware`` adds, wherever they occur in the response; put it after other middlewares that add
/// secrets.
public struct LoggingMiddleware: HTTPMiddleware, SendingByNext {
  /// How much to log.
  public enum Detail: Sendable {
    /// A line when a request is sent, and one when it ends.
    case lines
    /// Both lines, and the header fields of the request and the response.
    case headers
  }

  private let detail: Detail
  private let count = Locked(0)
  private let log: @Sendable (String) -> Void

  /// Takes the closure that receives each line; it is called on the exchange's queue.
  public init(detail: Detail = .lines, log: @escaping @Sendable (String) -> Void) {
    self.detail = detail
    self.log = log
  }

  /// Passes the request on, and logs it.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    Observable.deferred {
      let number = count.withLock { count in
        count += 1
        return count
      }
      let label = "#\(number) " + (request.operationName.map { "\($0.sanitized(upTo: 128)) " } ?? "")
      let record = Locked(Record())
      // Middlewares further in may add what a server repeats.
      var request = request
      let sent = request.context.sent ?? SentSecrets(declared: request.context.secrets)
      sent.add(request)
      request.context.sent = sent
      let clock = ContinuousClock()
      let start = clock.now
      let time = { @Sendable in (clock.now - start).inMilliseconds }
      let place = sent.redactor.redact(request.url.shownSafely)
      log("\(label)-> \(request.method) \(place), \(request.bodyCountText)")
      logFields(of: request.headers, by: sent.redactor, prefix: "\(label)->")
      return next(request).do(
        onNext: { part in
          switch part {
          case .head(let head):
            record.withLock { $0.status = head.status }
            logFields(of: head.headers, by: sent.redactor, prefix: "\(label)<-")
          case .body(let piece):
            record.withLock { $0.bytes += piece.count }
          case .trailers(let fields):
            logFields(of: fields, by: sent.redactor, prefix: "\(label)<-")
          }
        },
        onError: { error in
          record.withLock { $0.isEnded = true }
          log("\(label)<- failed after \(time()): \(sent.redactor.redact("\(RequestError(wrapping: error))"))")
        },
        onCompleted: {
          let (status, bytes) = record.withLock { record in
            record.isEnded = true
            return (record.status, record.bytes)
          }
          log("\(label)<- \(status), \(bytes) bytes, \(time())")
        },
        onDispose: {
          if !record.withLock({ $0.isEnded }) { log("\(label)<- stopped after \(time())") }
        })
    }
  }

  /// What is known about an exchange.
  private struct Record {
    var status = 0
    var bytes = 0
    var isEnded = false
  }

  private func logFields(of headers: HTTPHeaders, by redactor: Redactor, prefix: String) {
    guard detail == .headers else { return }
    for field in headers { log("\(prefix)   \(redactor.redact(field.description).sanitized(upTo: 512))") }
  }
}

extension Duration {
  fileprivate var inMilliseconds: String { "\(Int(self / .milliseconds(1))) ms" }
}
