public import HTTPClientCore
public import Streams
public import SystemBase

/// Sends requests through another transport, and records what comes of them in a cassette, to be replayed in tests.
///
///     let recorder = RecordingTransport(.platform(), to: file)
///     let client = try APIClient(baseURL: endpoint, transport: recorder)
///     …
///     try recorder.finish()
///
/// Put it in the place of the client's transport: below the middlewares, so that retries and tokens are recorded, too.
/// Recorded are requests, whole and partial responses, and failures; of an upload, only that there was one. It opens no
/// WebSockets; record a subscription as an event stream or as a multipart response.
public final class RecordingTransport: HTTPTransport {
  private let transport: any HTTPTransport
  private let file: URL
  private let keepsDates: Bool
  private let bodyLimit: Int
  private let inlineLimit: Int
  private let tape: Locked<Tape>

  /// Takes the transport to send through, and where the cassette is to be written.
  ///
  /// - Parameters:
  ///   - secrets: What is left out, and must be found nowhere.
  ///   - keepsDates: Whether the response's `Date`, `Age` and `Expires` are recorded, by which each recording differs.
  ///   - bodyLimit: The size in bytes up to which a response's body is recorded. A larger one is passed on, and ``finish()``
  ///     throws.
  ///   - inlineLimit: The size in bytes up to which a body that is text stands in the cassette; a larger one gets a file
  ///     beside it, as do all that are not text.
  public init(
    _ transport: some HTTPTransport, to file: URL, secrets: CassetteSecrets = CassetteSecrets(),
    keepsDates: Bool = false, bodyLimit: Int = 16 << 20, inlineLimit: Int = 64 << 10
  ) {
    self.transport = transport
    self.file = file
    self.keepsDates = keepsDates
    self.bodyLimit = bodyLimit
    self.inlineLimit = inlineLimit
    tape = Locked(Tape(finder: SecretFinder(secrets)))
  }

  /// What was recorded so far. An exchange that has not ended is open.
  public var cassette: Cassette { tape.withLock { $0.cassette(keepsDates: keepsDates).cassette } }

  /// Writes the cassette in the place of the one that was there, whole or not at all.
  ///
  /// Throws `holdsSecret`, with the place, if the value of a secret would be in the file, `unreadable` if a body cannot be
  /// searched for secrets, `tooLarge` if a response was
  /// over the limit, and `cannotWrite`; then the earlier cassette stays.
  public func finish() throws(CassetteError) {
    let (cassette, finder, tooLarge, unreadable) = tape.withLock { $0.cassette(keepsDates: keepsDates) }
    if let unreadable {
      throw CassetteError(
        .unreadable, at: unreadable.place,
        "Nothing was recorded, since \(unreadable.place) cannot be searched for secrets: \(unreadable.reason). Leave the "
          + "exchange out of the run, or let its session declare the response secret (isResponseSecret).")
    }
    if let tooLarge {
      throw CassetteError(
        .tooLarge,
        "Nothing was recorded, since the response to \(tooLarge) is larger than \(bodyLimit) bytes: raise bodyLimit.")
    }
    try cassette.write(to: file, inlineLimit: inlineLimit, unless: finder)
  }

  /// The other transport's stream.
  public func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    .deferred { [self] in
      let number = tape.withLock { $0.begin(request) }
      return transport.send(request).do(
        onNext: { [self] part in tape.withLock { $0[number].add(part, upTo: bodyLimit) } },
        onError: { [self] error in tape.withLock { $0[number].end = .failure(RequestError(wrapping: error)) } },
        onCompleted: { [self] in tape.withLock { $0[number].end = .success(()) } })
    }
  }
}

/// The exchanges of a recording, in the order in which their requests began.
private struct Tape: Sendable {
  struct Exchange: Sendable {
    let request: HTTPRequest
    var response: HTTPResponse?
    var isTooLarge = false
    /// How it ended; `nil` if it has not, or was disposed.
    var end: Result<Void, RequestError>?

    mutating func add(_ part: HTTPResponsePart, upTo limit: Int) {
      switch part {
      case .head(let head): response = HTTPResponse(head: head)
      case .body(let piece) where piece.count <= limit - (response?.body.count ?? 0): response?.body.append(piece)
      case .body: isTooLarge = true
      case .trailers: break
      }
    }
  }

  let finder: SecretFinder
  private var exchanges: [Exchange] = []

  init(finder: SecretFinder) {
    self.finder = finder
  }

  subscript(number: Int) -> Exchange {
    get { exchanges[number] }
    _modify { yield &exchanges[number] }
  }

  mutating func begin(_ request: HTTPRequest) -> Int {
    exchanges.append(Exchange(request: request))
    return exchanges.count - 1
  }

  /// The cassette, the secrets that are not in it, the first request whose response is missing, and the first body that
  /// may hold secrets which are not found.
  func cassette(
    keepsDates: Bool
  ) -> (
    cassette: Cassette, finder: SecretFinder, tooLarge: RecordedRequest?, unreadable: (place: String, reason: String)?
  ) {
    var finder = finder
    var tooLarge: RecordedRequest?
    var unreadable: (place: String, reason: String)?
    var recorded: [RecordedExchange] = []
    for exchange in exchanges {
      let request = RecordedRequest(exchange.request, by: &finder)
      let place = "exchanges[\(recorded.count)]"
      if let reason = finder.takeUnreadable(), unreadable == nil { unreadable = ("\(place).request.body", reason) }
      if exchange.isTooLarge, tooLarge == nil { tooLarge = request }
      let response = exchange.response.map {
        RecordedResponse($0, to: exchange.request, keepsDates: keepsDates, by: &finder)
      }
      if let reason = finder.takeUnreadable(), unreadable == nil { unreadable = ("\(place).response.body", reason) }
      var failure: RecordedFailure?
      if case .failure(let error)? = exchange.end { failure = RecordedFailure(error, of: exchange.request) }
      recorded.append(
        RecordedExchange(request: request, response: response, failure: failure, isOpen: exchange.end == nil))
    }
    return (Cassette(recorded.map { $0.redactingAddresses(by: finder) }), finder, tooLarge, unreadable)
  }
}
