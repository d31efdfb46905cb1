import Foundation
public import HTTP
public import Streams

/// Sends requests through another transport, and keeps each exchange that ended well, to be replayed in tests.
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

  /// Takes the transport to send through, and the greatest body that is kept, in bytes. An exchange whose answer has a
  /// larger one is passed on, but not kept.
  public init(_ transport: some HTTPTransport, bodyLimit: Int = 16 << 20) {
    self.transport = transport
    self.bodyLimit = bodyLimit
  }

  /// The exchanges so far, in the order of their ends.
  public var exchanges: [RecordedExchange] { record.withLock { $0 } }

  /// The other transport's stream; the exchange is kept when its answer is whole, before its end is passed on.
  public func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    .deferred { [self] in
      let answer = Locked<HTTPResponse?>(nil)
      return transport.send(request).do(
        onNext: { [bodyLimit] part in
          answer.withLock { answer in
            switch part {
            case .head(let head): answer = HTTPResponse(head: head)
            case .body(let piece) where piece.count <= bodyLimit - (answer?.body.count ?? 0):
              answer?.body.append(piece)
            case .body: answer = nil
            }
          }
        },
        onCompleted: { [record] in
          guard let exchange = answer.withLock({ $0 }).map({ RecordedExchange(request, $0) }) else { return }
          record.withLock { $0.append(exchange) }
        })
    }
  }
}

extension ScriptedTransport {
  /// Makes a transport that expects recorded exchanges, each once, and answers what was recorded.
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
