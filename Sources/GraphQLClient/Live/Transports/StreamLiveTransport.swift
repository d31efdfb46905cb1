import HTTPClientCore
import HTTPMiddlewares
public import Streams
public import SystemBase

/// Carries each subscription as the response to a request of its own: an event stream, or a multipart response.
///
/// The requests go through the client's middlewares, except those that send again or wait in line. One that a
/// `RateLimitMiddleware` would let wait is lost at once, and sent when the limit allows it: subscribers get
/// ``LiveEvent/disconnected(_:retryAfter:)`` with the pause.
public struct StreamLiveTransport: LiveTransport {
  private let format: any LiveStreamFormat
  private let settings: LiveSettings
  private let scheduler: any Scheduler

  init(_ format: some LiveStreamFormat, _ settings: LiveSettings, _ scheduler: any Scheduler) {
    self.format = format
    self.settings = settings
    self.scheduler = scheduler
  }

  /// Runs the operation; see ``LiveTransport/open(_:on:)``.
  public func open(_ operation: LiveOperation, on client: APIClient) -> Observable<LiveEvent<Data>> {
    Observable.create { observer in
      let dialler = StreamDialler(format, operation.request, client, settings)
      let connection = LiveConnection(dialler, settings, scheduler: scheduler)
      _ = connection.reserve()
      return connection.run(operation, observer)
    }
  }
}

extension LiveTransport where Self == StreamLiveTransport {
  /// Server-sent events: each subscription is an event stream of its own, by the protocol `graphql-sse` in distinct
  /// connections mode. It works with any transport, and through most proxies.
  ///
  /// If the server gives its events ids, a new attempt names the last one by `Last-Event-ID`; see
  /// ``LiveSettings/serverReplays``.
  public static func eventStream(
    _ settings: LiveSettings = LiveSettings(), scheduler: some Scheduler = ElasticScheduler()
  ) -> Self {
    StreamLiveTransport(EventStreamFormat(), settings, scheduler)
  }

  /// Multipart responses, by Apollo's protocol for subscriptions over HTTP, as Apollo Router speaks it.
  public static func multipart(
    _ settings: LiveSettings = LiveSettings(), scheduler: some Scheduler = ElasticScheduler()
  ) -> Self {
    StreamLiveTransport(MultipartFormat(), settings, scheduler)
  }
}

/// How a response carries the results of one operation.
protocol LiveStreamFormat: Sendable {
  /// The request's `Accept`.
  var accept: HTTPField { get }

  /// What reads a response with this head; `nil` if that is not in the format.
  func reader(of head: HTTPResponseHead, after lastEventID: String?) -> (any LiveStreamReader)?
}

/// Reads one response, split anywhere.
protocol LiveStreamReader: Sendable {
  /// Takes the next piece, and returns what it completes. What cannot be read is `lost`, behind what came before it.
  mutating func read(_ piece: Data) -> [LiveChannelEvent]

  /// The response has ended.
  mutating func finish() -> LiveChannelEvent
}

/// Sends the request of one operation, and reads its response.
private final class StreamDialler: LiveDialler {
  let traits = LiveTraits(isForOne: true)
  var shutdown: (any ShutdownNotifying)? { client.transport as? any ShutdownNotifying }
  private let format: any LiveStreamFormat
  private let request: HTTPRequest
  private let client: APIClient
  let credentials: LiveCredentials
  private let serverReplays: Bool
  let sent: SentSecrets

  init(_ format: any LiveStreamFormat, _ request: HTTPRequest, _ client: APIClient, _ settings: LiveSettings) {
    self.format = format
    self.client = client
    credentials = LiveCredentials(of: client)
    serverReplays = settings.serverReplays
    var request = request
    // A total that was set is meant for responses that end.
    request.timeouts = HTTPTimeouts(connect: request.timeouts.connect, idle: settings.streamSilence)
    request.readsWholeResponse = false
    request.isReplayable = false
    request.isStream = true
    sent = request.context.sent ?? SentSecrets(declared: request.context.secrets)
    sent.add(request)
    request.context.sent = sent
    self.request = request
  }

  func dial(refreshingToken: Bool, after position: String?) -> Observable<LiveChannelEvent> {
    credentials.field(for: request, isRejected: refreshingToken).flatMap { [self] field, _ in
      let lastEvent = position.flatMap(Self.lastEvent)
      var request = makeRequest(with: field, lastEvent)
      sent.add(request)
      // Middlewares add fields, too.
      request.context.onSent = { [sent] in sent.add($0) }
      let parts = client.transport.send(request, through: client.middlewares.forStreams)
      let isResumed = lastEvent != nil && serverReplays
      return .just(.prepared).concat(read(parts, after: position, isResumed: isResumed)).catch {
        [name = request.operationName] error in
        throw RequestError(wrapping: error).named(name)
      }
    }
    .redacted(by: sent)
  }

  private func makeRequest(with field: HTTPField?, _ lastEvent: HTTPField?) -> HTTPRequest {
    var request = request
    request.headers.remove("Accept")
    request.headers.append(format.accept)
    if let field, !request.headers.contains(field.name) { request.headers.append(field) }
    request.context.onAuthenticated = { [credentials] account, token, fieldName in
      credentials.noteSent(AccessToken(token, account: account), in: fieldName)
    }
    if let lastEvent {
      request.headers.remove(lastEvent.name)
      request.headers.append(lastEvent)
    }
    return request
  }

  /// The field that asks for what came after the event of an id. There is none for an empty one, by which a server takes
  /// the last one back, or for one that does not fit into a field.
  private static func lastEvent(_ id: String) -> HTTPField? {
    guard !id.isEmpty, id.utf8.count <= 1024,
      let field = try? HTTPField(name: "Last-Event-ID", value: id), field.value == id
    else { return nil }
    return field
  }

  private func read(
    _ parts: Observable<HTTPResponsePart>, after position: String?, isResumed: Bool
  ) -> Observable<LiveChannelEvent> {
    parts.transform(StreamResponse.none) { [self] response, part, emit in
      switch (part, response) {
      case (.head(let head), _):
        if head.isSuccess, let reader = format.reader(of: head, after: position) {
          response = .stream(reader)
          emit(.opened(OneWayChannel(), isResumed: isResumed))
        } else {
          response = .other(HTTPResponse(head: head))
        }
      case (.body(let piece), .stream(var reader)):
        response = .none
        emit(.heard)
        let events = reader.read(piece)
        response = .stream(reader)
        for event in events { emit(event) }
      case (.body(let piece), .other(var other)):
        guard other.body.count < Self.bodyLimit else { return }
        other.body += piece
        response = .other(other)
      case (.body, .none), (.trailers, _): break
      }
    } finishing: { [self] response, emit in
      switch response {
      case .stream(var reader): emit(reader.finish())
      case .other(let other): throw failure(of: other)
      case .none: break
      }
    }
  }

  /// How much of a response that is no stream is read.
  private static let bodyLimit = 256 << 10

  /// The failure that a response is which is no stream.
  private func failure(of response: HTTPResponse) -> RequestError {
    do throws(RequestError) {
      let parser: ResponseParser<GraphQLResponse<NoContent>> = .graphQL(.none)
      _ = try parser.parse(response, by: client.decoder)
    } catch {
      var error = error
      error.status = error.status ?? response.head.status
      error.retryAfter = error.retryAfter ?? response.head.retryAfter(now: Date())
      if error.kind != .undecodable { return error }
    }
    let type = response.head.mediaType ?? "no type"
    return RequestError(
      .badResponse,
      "The server answered with \(type), which is no stream of results: does it support '\(format.accept.value)'?",
      status: response.head.status)
  }
}

private enum StreamResponse: Sendable {
  case none
  case stream(any LiveStreamReader)
  case other(HTTPResponse)
}

/// The request has said it all; its end cancels.
private struct OneWayChannel: LiveChannel {
  func send(_ message: LiveClientMessage, body: Data) {}
  func close(code: UInt16) {}
}
