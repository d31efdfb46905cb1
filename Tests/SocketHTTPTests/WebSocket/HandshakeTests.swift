import Foundation
import HTTPTestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct HandshakeTests {
  private static let key = "dGhlIHNhbXBsZSBub25jZQ=="

  private func handshake(
    _ subprotocols: [String] = [], _ compression: WebSocketCompression = .off
  ) throws -> (WebSocketRequest, Handshake) {
    var request = try WebSocketRequest(
      url: url("wss://server.example.com/chat?room=1"), headers: ["Origin": "http://example.com"],
      subprotocols: subprotocols)
    request.compression = compression
    return (request, Handshake(request, key: Self.key))
  }

  private func response(_ changes: KeyValuePairs<String, String?> = [:], status: Int = 101) throws -> HTTPResponseHead {
    var headers: HTTPHeaders = [
      "upgrade": "WebSocket", "Connection": "keep-alive, UPGRADE",
      "Sec-WebSocket-Accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
    ]
    for (name, value) in changes {
      if let value { try headers.set(name, to: value) } else { headers.remove(name) }
    }
    return HTTPResponseHead(status: status, headers: headers)
  }

  /// RFC 6455, section 1.3.
  @Test func `the key of the RFC's example is accepted as it says`() {
    #expect(Handshake.accept(for: Self.key) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
  }

  /// FIPS 180-4 and RFC 3174, section 7.3.
  @Test(arguments: [
    ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
    (String(repeating: "a", count: 1_000), "291e9a6c66994949b57ba5e650361e98fc36b1ba"),
    (String(repeating: "01234567", count: 80), "dea356a2cddd90c7a7ecedc5ebb563934f460452"),
  ])
  func `SHA-1 gives the hashes of its standard`(message: String, hash: String) {
    #expect(SHA1.hash(message.utf8).map { String(format: "%02x", $0) }.joined() == hash)
  }

  @Test func `the upgrade has the fields of the handshake, and the request's own`() throws {
    let (request, handshake) = try handshake(["a", "b"], .acrossMessages)
    let head = String(decoding: try handshake.head(of: request, userAgent: "me/1"), as: UTF8.self)
    #expect(
      head.components(separatedBy: "\r\n") == [
        "GET /chat?room=1 HTTP/1.1", "Host: server.example.com", "Origin: http://example.com", "Connection: Upgrade",
        "Upgrade: websocket", "Sec-WebSocket-Key: \(Self.key)", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: a, b",
        "Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover; client_max_window_bits",
        "User-Agent: me/1", "", "",
      ])
  }

  @Test func `each handshake has a key of its own, of 16 bytes`() throws {
    let (request, _) = try handshake()
    let keys = try (0..<100).map { _ in
      String(decoding: try Handshake(request).head(of: request, userAgent: nil), as: UTF8.self)
        .components(separatedBy: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }?.dropFirst(19)
    }
    #expect(Set(keys).count == 100)
    #expect(keys.allSatisfy { Data(base64Encoded: String($0 ?? ""))?.count == 16 })
  }

  @Test(arguments: [
    "Connection", "Upgrade", "Sec-WebSocket-Key", "sec-websocket-protocol", "Content-Length", "Transfer-Encoding",
  ])
  func `a header that the transport sets is refused`(name: String) throws {
    var (request, handshake) = try handshake()
    try request.headers.set(name, to: "1")
    let error = #expect(throws: RequestError.self) { try handshake.head(of: request, userAgent: nil) }
    #expect(error?.kind == .invalidRequest)
  }

  @Test func `a response is accepted whatever the case of its tokens`() throws {
    #expect(try handshake().1.check(response()) == .init())
    #expect(try handshake(["a", "b"]).1.check(response(["Sec-WebSocket-Protocol": "b"])).subprotocol == "b")
  }

  @Test(
    arguments: [
      ["Upgrade": nil], ["Upgrade": "h2c"], ["Connection": nil], ["Connection": "close"], ["Sec-WebSocket-Accept": nil],
      ["Sec-WebSocket-Accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOO="],
      ["Sec-WebSocket-Extensions": "permessage-deflate"], ["Sec-WebSocket-Extensions": "x-other"],
    ] as [KeyValuePairs<String, String?>])
  func `a response that is not one to this upgrade is refused`(changes: KeyValuePairs<String, String?>) throws {
    let error = try #require(throws: RequestError.self) { try handshake().1.check(response(changes)) }
    #expect(error.kind == .badResponse)
    guard case .badHandshake? = error.cause as? WebSocketFailure else {
      Issue.record("\(String(describing: error.cause))")
      return
    }
  }

  @Test(
    arguments: [([], "a"), (["a"], nil), (["a", "b"], "c"), (["a"], "A"), (["a", "b"], "a, b")] as [([String], String?)]
  )
  func `a subprotocol that was not offered is refused, and none where some were`(
    offered: [String], selected: String?
  ) throws {
    let error = try #require(throws: RequestError.self) {
      try handshake(offered).1.check(response(["Sec-WebSocket-Protocol": selected]))
    }
    #expect(error.kind == .badResponse)
    guard case .wrongSubprotocol(selected)? = error.cause as? WebSocketFailure else {
      Issue.record("\(String(describing: error.cause))")
      return
    }
  }

  @Test(
    arguments: [
      (401, .httpStatus), (429, .httpStatus), (503, .httpStatus), (200, .httpStatus), (302, .redirectRefused),
    ] as [(Int, RequestError.Kind)])
  func `a server that refuses is an error with its status and Retry-After`(
    status: Int, kind: RequestError.Kind
  ) throws {
    let head = try response(["Retry-After": "7"], status: status)
    let error = try #require(throws: RequestError.self) { try handshake().1.check(head) }
    #expect(error.kind == kind)
    #expect(error.status == status)
    #expect(error.retryAfter == .seconds(7))
    guard case .refused(head)? = error.cause as? WebSocketFailure else {
      Issue.record("\(String(describing: error.cause))")
      return
    }
  }

  // MARK: - Extensions

  @Test(arguments: [
    ("permessage-deflate", true), ("Permessage-Deflate; server_no_context_takeover", false),
    ("permessage-deflate; client_no_context_takeover; server_max_window_bits=12", true),
    ("permessage-deflate;server_max_window_bits=\"15\" ; server_no_context_takeover", false),
  ])
  func `an agreement to compression is read`(value: String, keepsContext: Bool) throws {
    let agreement = try handshake([], .acrossMessages).1.check(response(["Sec-WebSocket-Extensions": value]))
      .compression
    #expect(agreement == CompressionAgreement(serverKeepsContext: keepsContext))
  }

  @Test(arguments: [8, 10, 15]) func `a server may limit the window of what it gets`(window: Int) throws {
    let value = "permessage-deflate; client_max_window_bits=\(window)"
    let agreement = try handshake([], .perMessage).1.check(response(["Sec-WebSocket-Extensions": value])).compression
    #expect(agreement == CompressionAgreement(serverKeepsContext: true, clientWindow: window))
  }

  /// RFC 7692, sections 5.1 and 7.1.
  @Test(arguments: [
    "x-webkit-deflate-frame", "permessage-deflate, permessage-deflate", "permessage-deflate; mystery",
    "permessage-deflate; client_max_window_bits", "permessage-deflate; client_max_window_bits=7",
    "permessage-deflate; client_max_window_bits=16", "permessage-deflate; server_max_window_bits",
    "permessage-deflate; server_max_window_bits=7", "permessage-deflate; server_max_window_bits=16",
    "permessage-deflate; server_max_window_bits=08", "permessage-deflate; server_no_context_takeover=1",
    "permessage-deflate; server_no_context_takeover; server_no_context_takeover", "permessage-deflate;",
  ])
  func `an agreement to what was not offered is refused`(value: String) throws {
    let (_, handshake) = try handshake([], .acrossMessages)
    let head = try response(["Sec-WebSocket-Extensions": value])
    #expect(throws: RequestError.self) { try handshake.check(head) }
  }

  @Test func `compression is not offered without zlib`() {
    #expect(CompressionAgreement.offer(.perMessage, hasLibrary: false) == nil)
    #expect(CompressionAgreement.offer(.off) == nil)
    #expect(CompressionAgreement.offer(.perMessage)?.contains("server_no_context_takeover") == true)
  }
}

@Suite struct WebSocketRequestTests {
  @Test(arguments: [
    ("ws://a.test/x", false, 80), ("wss://a.test/x?y", true, 443), ("WSS://A.test:8443", true, 8443),
    ("http://a.test", false, 80), ("https://a.test", true, 443), ("ws://[::1]:81/", false, 81),
  ])
  func `the URLs of WebSocket and of HTTP are accepted`(text: String, isSecure: Bool, port: Int) throws {
    let request = try WebSocketRequest(url: url(text))
    #expect(request.target.isSecure == isSecure)
    #expect(request.target.port == port)
    #expect(request.url.absoluteString == text)
  }

  @Test(arguments: ["ftp://a.test", "ws:///x", "wss://u:p@a.test/", "ws://a.test/#x", "/x", "ws:a.test"])
  func `other URLs are refused`(text: String) throws {
    let error = #expect(throws: RequestError.self) { try WebSocketRequest(url: url(text)) }
    #expect(error?.kind == .invalidRequest)
  }

  @Test(arguments: [["a", "a"], [""], ["a b"], ["a,b"], ["a\r\nX: y"]])
  func `subprotocols that are no tokens, or occur twice, are refused`(names: [String]) throws {
    let error = #expect(throws: RequestError.self) {
      try WebSocketRequest(url: url("ws://a.test"), subprotocols: names)
    }
    #expect(error?.kind == .invalidRequest)
  }

  @Test func `commands that may not be sent are refused before they reach the transport`() {
    let connection = WebSocketConnection { _ in Issue.record("It was sent.") }
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000] as [UInt16] {
      let error = #expect(throws: RequestError.self) { try connection.close(code: WebSocketCloseCode(code)) }
      #expect(error?.kind == .invalidRequest)
    }
    #expect(throws: RequestError.self) { try connection.close(reason: String(repeating: "é", count: 62)) }
    #expect(throws: RequestError.self) { try connection.ping(Data(count: 126)) }
  }
}
