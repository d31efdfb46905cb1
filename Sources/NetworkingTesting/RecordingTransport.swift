public import HTTP
import Platform
public import Streams

/// Sends requests through another transport, and records each exchange that completes, to be replayed in tests.
///
///     let recorder = RecordingTransport(.platform())
///     …
///     try JSONEncoder().encode(recorder.exchanges).write(to: file)
///
///     let exchanges = try JSONDecoder().decode([RecordedExchange].self, from: Data(contentsOf: file))
///     let transport = try ScriptedTransport(replaying: exchanges)
public final class RecordingTransport: HTTPTransport {
  private let transport: any HTTPTransport
  private let bodyLimit: Int
  private let record = Locked<[RecordedExchange]>([])

  /// Takes the transport to send through, and the size in bytes up to which a response's body is recorded. An exchange
  /// with a larger one is passed on, but not recorded.
  public init(_ transport: some HTTPTransport, bodyLimit: Int = 16 << 20) {
    self.transport = transport
    self.bodyLimit = bodyLimit
  }

  /// The exchanges so far, in the order in which they completed.
  public var exchanges: [RecordedExchange] { record.withLock { $0 } }

  /// The other transport's stream. The exchange is recorded when its response is complete, before the completion is
  /// passed on.
  public func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    .deferred { [self] in
      let response = Locked<HTTPResponse?>(nil)
      return transport.send(request).do(
        onNext: { [bodyLimit] part in
          response.withLock { response in
            switch part {
            case .head(let head): response = HTTPResponse(head: head)
            case .body(let piece) where piece.count <= bodyLimit - (response?.body.count ?? 0):
              response?.body.append(piece)
            case .body: response = nil
            }
          }
        },
        onCompleted: { [record] in
          guard let exchange = response.withLock({ $0 }).map({ RecordedExchange(request, $0) }) else { return }
          record.withLock { $0.append(exchange) }
        })
    }
  }
}

extension ScriptedTransport {
  /// Makes a transport that expects each recorded exchange once, and responds as recorded.
  public convenience init(replaying exchanges: [RecordedExchange]) throws(RequestError) {
    self.init()
    for exchange in exchanges {
      let response = try exchange.response()
      let name = exchange.operationName.map { " (\($0))" } ?? ""
      expect(
        RequestMatcher("\(exchange.method) \(exchange.url)\(name)", isMatch: exchange.matches),
        .response(status: response.head.status, headers: response.head.headers, body: response.body))
    }
  }
}
