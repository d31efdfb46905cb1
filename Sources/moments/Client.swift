import CommandLineBase
import HTTPClientCore
import HTTPMiddlewares
import Networking
import Streams
import SystemBase

extension Arguments {
  /// Throws if a header of the command line is one that the transport sets.
  func checkHeaders() throws(UsageError) {
    guard let endpoint else { return }
    do throws(RequestError) {
      try HTTPRequest(method: .post, url: endpoint.url, headers: HTTPHeaders(headers)).checkFraming()
    } catch {
      throw UsageError("--header: \(error.message)")
    }
  }

  /// A client for an endpoint, configured by the arguments.
  func client(for endpoint: Endpoint) throws(RequestError) -> APIClient {
    var client = try APIClient(
      baseURL: endpoint.url, transport: transport.transport(),
      defaultHeaders: .platform(name: "moments", version: HTTPHeaders.sdkVersion),
      allowsCleartext: allowsCleartext)
    var outermost: [any HTTPMiddleware] = [GivenHeadersMiddleware(fields: headers)]
    var logging: [any HTTPMiddleware] = []
    if isVerbose {
      let log: @Sendable (String) -> Void = { Output.standardError.say($0.sanitized()) }
      logging = [LoggingMiddleware(detail: .headers, log: log)]
      client.observer = AttemptLog(log: log)
    }
    // A run of `watch` has no end; there, it is the longest time without a live connection.
    if let timeout, action != .watch {
      // Other timeouts must not fire before the requested one.
      client.timeouts = HTTPTimeouts(connect: nil, idle: nil, total: timeout)
      outermost.append(RunDeadline(after: timeout))
    }
    var tokens: RefreshedTokens?
    if let refreshToken {
      client.middlewares = outermost + logging
      tokens = RefreshedTokens(token, refreshToken: refreshToken, client: client)
    } else if let token {
      try client.defaultHeaders.set("Authorization", to: token.authorization)
    }
    client.middlewares = outermost + .standard(tokens: tokens, retries: retries) + logging
    client.graphQL.live = liveTransport
    return client
  }

  private var liveTransport: any LiveTransport {
    switch live ?? (transport.kind == .urlsession ? .sse : .ws) {
    case .sse: .eventStream(.persistent)
    case .multipart: .multipart(.persistent)
    case .ws:
      .webSocket(settings: .persistent) { [headers] opening in
        for field in headers { opening.headers.remove(field.name) }
        opening.headers = HTTPHeaders(Array(opening.headers) + headers)
      }
    }
  }
}

/// Sets the header fields from the command line on each request, replacing fields of the same names.
struct GivenHeadersMiddleware: HTTPMiddleware {
  let fields: [HTTPField]

  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    var request = request
    for field in fields { request.headers.remove(field.name) }
    request.headers = HTTPHeaders(Array(request.headers) + fields)
    return next(request)
  }
}

/// The deadline that `--timeout` sets for a run: requests and pauses share the time, counted from the start.
struct RunDeadline: HTTPMiddleware {
  private let limit: Duration
  private let end: Duration
  private let scheduler: any Scheduler

  /// Starts counting now.
  init(after limit: Duration, scheduler: some Scheduler = ConcurrentScheduler()) {
    self.limit = limit
    end = scheduler.now + limit
    self.scheduler = scheduler
  }

  /// Sets a request's total deadline to the time that is left.
  func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .deferred {
      var request = request
      request.timeouts.total = max(end - scheduler.now, .zero)
      return next(request).catch { [url = request.url] in throw named($0, url) }
    }
  }

  /// A deadline error with the run's own limit instead of the time that was left.
  private func named(_ error: any Error, _ url: URL) -> any Error {
    guard var error = error as? RequestError, error.kind == .timedOut, scheduler.now >= end else { return error }
    error.message =
      "Timed out after \(limit) waiting for the complete response of '\(url.shownSafely)': allow more by --timeout."
    return error
  }
}

/// Logs a line of text for each attempt and retry of a request, its outcome, and how long it took.
struct AttemptLog: RequestObserver {
  let log: @Sendable (String) -> Void

  func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    let name = request.operationName ?? "request"
    return { [log] event in
      if let line = Self.line(for: event) { log("\(name): \(line)") }
    }
  }

  private static func line(for event: RequestEvent) -> String? {
    switch event {
    case .attemptEnded(let attempt):
      let answer = [attempt.status.map { "status \($0)" }, failure(attempt.outcome)].compactMap { $0 }
      let head = attempt.firstByteTime.map { ", head after \(milliseconds($0))" } ?? ""
      let version = attempt.httpVersion.map { ", HTTP/\($0)" } ?? ""
      return "attempt \(attempt.number): \(answer.joined(separator: ", "))\(version)\(head), "
        + milliseconds(attempt.duration)
    case .retrying(let delay, let reason):
      return "again in \(milliseconds(delay)): \(reason.status.map { "status \($0)" } ?? reason.kind.description)"
    case .challenged: return "the token was rejected, getting a new one"
    case .servedFromCache(.cache(let age, _)): return "a response from \(milliseconds(age)) ago is in the cache"
    case .servedFromCache(.validatedCache): return "the response in the cache is still current"
    case .ended(let summary):
      let bytes = "\(summary.sentBytes) bytes sent, \(summary.receivedBytes) received"
      let attempts = "\(summary.attemptCount) \(summary.attemptCount == 1 ? "attempt" : "attempts")"
      return "\(summary.outcome.label) after \(attempts), \(bytes), \(milliseconds(summary.duration))"
    default: return nil
    }
  }

  private static func failure(_ outcome: RequestOutcome) -> String? {
    if case .succeeded = outcome { nil } else { outcome.label }
  }

  private static func milliseconds(_ duration: Duration) -> String { "\(Int(duration / .milliseconds(1))) ms" }
}
