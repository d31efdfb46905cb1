import HTTPClientCore
import SystemBase

/// The opening handshake (RFC 6455, section 4): the fields of the upgrade, and the check of the response.
struct Handshake {
  /// What a successful handshake has settled.
  struct Agreement: Equatable {
    var subprotocol: String?
    var compression: CompressionAgreement?
  }

  private let key: String
  private let subprotocols: [String]
  private let offeredExtensions: String?

  /// Makes a handshake with a key of 16 random bytes.
  init(_ request: WebSocketRequest) {
    self.init(request, key: Self.randomKey())
  }

  init(_ request: WebSocketRequest, key: String) {
    self.key = key
    subprotocols = request.subprotocols
    offeredExtensions = CompressionAgreement.offer(request.compression)
  }

  private static func randomKey() -> String {
    var bytes = SIMD16<UInt8>()
    return withUnsafeMutableBytes(of: &bytes) {
      $0.fillRandomly()
      return Data($0).base64EncodedString()
    }
  }

  /// The request for the connection, without the fields of ``fields(userAgent:)``; throws `invalidRequest` if it cannot be
  /// written.
  static func request(for request: WebSocketRequest) throws(RequestError) -> HTTPRequest {
    try request.checkHandshake()
    let upgrade = HTTPRequest(
      method: .get, target: request.target, headers: request.headers, body: nil,
      timeouts: HTTPTimeouts(connect: nil, idle: nil, total: nil), operationName: request.operationName,
      isReplayable: false)
    try upgrade.checkWritable()
    return upgrade
  }

  /// The fields by which the client asks for WebSocket in any version of HTTP.
  func fields(userAgent: String?) -> [(name: String, value: String)] {
    var fields = [(name: "Sec-WebSocket-Version", value: "13")]
    if !subprotocols.isEmpty { fields.append(("Sec-WebSocket-Protocol", subprotocols.joined(separator: ", "))) }
    if let offeredExtensions { fields.append(("Sec-WebSocket-Extensions", offeredExtensions)) }
    if let userAgent { fields.append(("User-Agent", userAgent)) }
    return fields
  }

  /// The head of the upgrade in HTTP/1.1; throws `invalidRequest` if the request cannot be written.
  func head(of request: WebSocketRequest, userAgent: String?) throws(RequestError) -> [UInt8] {
    let ofUpgrade = [(name: "Connection", value: "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Key", key)]
    let upgrade = try Self.request(for: request)
    return RequestWriter(defaults: ofUpgrade + fields(userAgent: userAgent)).head(of: upgrade)
  }

  /// The value of `Sec-WebSocket-Accept` that shows that the server has understood this upgrade (section 4.2.2).
  static func accept(for key: String) -> String {
    Data(SHA1.hash("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)).base64EncodedString()
  }

  /// Checks a response of HTTP/1.1, or of an older minor version (section 4.1); throws an error with a
  /// ``WebSocketFailure`` as its cause.
  func check(_ head: HTTPResponseHead, minorVersion: Int = 1) throws(RequestError) -> Agreement {
    guard head.status == 101 else { throw Self.refusal(head, body: Data()) }
    let bad = { (reason: String) in Self.invalid(head, reason) }
    // RFC 9110, section 15.2: HTTP/1.0 has no interim responses.
    guard minorVersion >= 1 else { throw bad("it is in HTTP/1.0, which cannot switch protocols") }
    let headers = head.headers
    guard headers["Upgrade"]?.lowercased() == "websocket" else { throw bad("its header 'Upgrade' is not 'websocket'") }
    guard headers["Connection"]?.listElements.contains("upgrade") ?? false else {
      throw bad("its header 'Connection' does not hold 'Upgrade'")
    }
    guard headers.values(of: "Sec-WebSocket-Accept") == [Self.accept(for: key)] else {
      throw bad("its header 'Sec-WebSocket-Accept' is not the one for this request")
    }
    return try agreement(in: head)
  }

  /// Checks what a server has chosen that has agreed: all that there is to check in HTTP/2 (RFC 8441, section 5).
  func agreement(in head: HTTPResponseHead) throws(RequestError) -> Agreement {
    let headers = head.headers
    let selected = headers["Sec-WebSocket-Protocol"]
    // Names of subprotocols are compared with regard to case.
    guard subprotocols.isEmpty ? selected == nil : selected.map(subprotocols.contains) ?? false else {
      let offered = subprotocols.isEmpty ? "none was" : "'\(subprotocols.joined(separator: "', '"))' was"
      throw RequestError(
        .badResponse,
        "The server selected \(selected.map { "the subprotocol '\($0)'" } ?? "no subprotocol"), but \(offered) offered.",
        status: head.status, cause: WebSocketFailure.wrongSubprotocol(selected: selected))
    }
    do throws(CompressionAgreement.Refusal) {
      let compression = try CompressionAgreement(
        accepted: headers["Sec-WebSocket-Extensions"], offered: offeredExtensions != nil)
      return Agreement(subprotocol: selected, compression: compression)
    } catch {
      throw Self.invalid(head, error.reason)
    }
  }

  private static func invalid(_ head: HTTPResponseHead, _ reason: String) -> RequestError {
    RequestError(
      .badResponse, "The server's upgrade to WebSocket is not valid: \(reason).", status: head.status,
      cause: WebSocketFailure.badHandshake(head))
  }

  /// The error for a response with another status, with the start of its body.
  static func refusal(_ head: HTTPResponseHead, body: Data) -> RequestError {
    var error = RequestError(
      .httpStatus, "The server did not switch to WebSocket, and answered with status \(head.status): is the URL right?",
      status: head.status)
    do throws(RequestError) { try head.requireSuccess() } catch let refused { error = refused }
    if !body.isEmpty { error.excerpt = String(decoding: body, as: UTF8.self).sanitized(upTo: 512) }
    error.retryAfter = head.retryAfter(now: Date())
    error.cause = WebSocketFailure.refused(head)
    return error
  }
}
