import Foundation
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

struct HTTP1ParserTests {
  /// Answers that are valid, and what is in them.
  struct Valid: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var text: String
    var request = HTTP1Parser.Request.other
    var status = 200
    var body = ""
    var isUntilClose = false
    var allowsReuse = true
  }

  static let valid = [
    Valid(testDescription: "length", text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", body: "hello"),
    Valid(testDescription: "length of zero", text: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    Valid(
      testDescription: "the same length twice",
      text: "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\ncontent-length:2\r\n\r\nhi", body: "hi"),
    Valid(testDescription: "lines that end in LF", text: "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", body: "hi"),
    Valid(
      testDescription: "an empty line first", text: "\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", body: "hi"),
    Valid(
      testDescription: "blanks behind a chunk's size",
      text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2   \r\nhi\r\n0 \r\n\r\n", body: "hi"),
    Valid(
      testDescription: "an empty length", text: "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nall of it",
      body: "all of it",
      isUntilClose: true, allowsReuse: false),
    Valid(
      testDescription: "HEAD with length and coding",
      text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", request: .head),
    Valid(
      testDescription: "304 with length and coding",
      text: "HTTP/1.1 304 No\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", status: 304),
    Valid(
      testDescription: "103 with length and coding",
      text: "HTTP/1.1 103 Hints\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", body: "hi"),
    Valid(testDescription: "no reason", text: "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", body: "hi"),
    Valid(
      testDescription: "chunks",
      text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n",
      body: "hello!"),
    Valid(
      testDescription: "chunks with extensions and trailers",
      text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n00A ;x=\"\t1\"\r\n0123456789\r\n0;end\r\n"
        + "Expires: never\r\nDigest: abc\r\n\r\n", body: "0123456789"),
    Valid(
      testDescription: "until the connection closes", text: "HTTP/1.1 200 OK\r\n\r\nall of it", body: "all of it",
      isUntilClose: true, allowsReuse: false),
    Valid(
      testDescription: "answer to HEAD", text: "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", request: .head),
    Valid(
      testDescription: "chunked answer to HEAD", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      request: .head),
    Valid(testDescription: "204", text: "HTTP/1.1 204 No Content\r\nX: y\r\n\r\n", status: 204),
    Valid(testDescription: "304", text: "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", status: 304),
    Valid(
      testDescription: "600", text: "HTTP/1.1 600 What\r\nContent-Length: 1\r\n\r\n!", status: 600, body: "!"),
    Valid(
      testDescription: "interim answers first",
      text: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"
        + "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok", status: 201, body: "ok"),
    Valid(
      testDescription: "connection to be closed",
      text: "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 1\r\n\r\n!", body: "!", allowsReuse: false),
    Valid(
      testDescription: "HTTP/1.0", text: "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n!", body: "!", allowsReuse: false),
    Valid(
      testDescription: "HTTP/1.0 kept alive",
      text: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n!", body: "!"),
    Valid(
      testDescription: "tunnel", text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", request: .connect),
    // RFC 9110, section 9.3.6: what frames a body has no meaning there.
    Valid(
      testDescription: "tunnel with framing to ignore",
      text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", request: .connect),
  ]

  @Test(arguments: valid)
  func `a valid response is read the same however its bytes are split`(_ valid: Valid) throws {
    let bytes = Array(valid.text.utf8)
    for pieces in [[bytes]] + bytes.splits {
      let parsed = try ParsedResponse(pieces, answering: valid.request, isClosed: valid.isUntilClose)
      #expect(parsed.head?.status == valid.status)
      #expect(String(decoding: parsed.body, as: UTF8.self) == valid.body)
      #expect(parsed.isComplete)
      #expect(parsed.leftover == 0)
      #expect(parsed.allowsReuse == valid.allowsReuse)
    }
  }

  @Test(arguments: valid)
  func `a valid response cut at any byte is a lost connection`(_ valid: Valid) throws {
    let bytes = Array(valid.text.utf8)
    let head = valid.text.range(of: "\r\n\r\n").map { valid.text[..<$0.upperBound].utf8.count } ?? 0
    for cut in bytes.indices where !(valid.isUntilClose && cut >= head) {
      let kind = kindOfError {
        _ = try ParsedResponse([Array(bytes[..<cut])], answering: valid.request, isClosed: true)
      }
      #expect(kind == .connectionLost, "cut at \(cut)")
    }
  }

  @Test(arguments: valid.filter { !$0.isUntilClose })
  func `bytes behind a response are left over`(_ valid: Valid) throws {
    let parsed = try ParsedResponse(valid.text + "HTTP/1.1 200 OK\r\n", answering: valid.request)
    #expect(parsed.isComplete)
    #expect(parsed.leftover == 17)
  }

  static let invalid = [
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello!",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length:\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length:\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 5,\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nhello",
    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 0\r\n\r\n0123456789",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\n folded: b\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\n: 5\r\n\r\n",
    "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
    "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
    "HTTP/1.1 200 OK\r\nA: b\r\r\n\r\n",
    "HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n",
    "HTTP/1.1 200 OK\r\nA\0: bc\r\n\r\n",
    "HTTP/1.1 200 O\rK\r\n\r\n",
    "HTTP/1.1 200 O\0K\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    "HTTP/1.1 099 Low\r\n\r\n",
    "HTTP/1.1 20 OK\r\n\r\n",
    "HTTP/1.1 2000 OK\r\n\r\n",
    "HTTP/1.1  200 OK\r\n\r\n",
    "HTTP/1.1\t200 OK\r\n\r\n",
    "HTTP/2.0 200 OK\r\n\r\n",
    "HTTP/1.x 200 OK\r\n\r\n",
    "http/1.1 200 OK\r\n\r\n",
    "\r\n\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    "\rHTTP/1.1 200 OK\r\n\r\n",
    "\r\r\nHTTP/1.1 200 OK\r\n\r\n",
    "220 mail.example.com ESMTP\r\n",
    "<html>",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 5\r\nhello\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a\nb\r\nhello\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n80000000000000000\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nbad trailer\r\n\r\n",
  ]

  @Test(arguments: invalid)
  func `bytes that are not HTTP, or can be read in two ways, are refused however they are split`(_ text: String) {
    let bytes = Array(text.utf8)
    for pieces in [[bytes]] + bytes.splits {
      #expect(kindOfError { _ = try ParsedResponse(pieces) } == .badResponse)
    }
  }

  @Test(arguments: ["H", "HTTP/1.", "HTTP/1.1 200 OK\r\nA: b\r\n", "HTTP/1.1 200 OK\r\n\r"])
  func `a head that has not ended waits for more`(_ text: String) throws {
    let parsed = try ParsedResponse(text)
    #expect(parsed == ParsedResponse.nothing)
  }

  @Test func `a head over the limit is refused, in one piece or in many`() {
    let head = "HTTP/1.1 200 OK\r\nA: \(String(repeating: "a", count: 64 << 10))\r\n\r\n"
    #expect(kindOfError { _ = try ParsedResponse(head) } == .tooLarge)
    #expect(kindOfError { _ = try ParsedResponse(head.utf8.map { [$0] }) } == .tooLarge)
  }

  @Test func `a head that never ends is refused at the limit`() {
    let lines = [UInt8]("A: b\r\n".utf8)
    let pieces = [Array("HTTP/1.1 200 OK\r\n".utf8)] + Array(repeating: lines, count: 20_000)
    #expect(kindOfError { _ = try ParsedResponse(pieces) } == .tooLarge)
  }

  @Test func `256 fields are read, and 257 refused`() throws {
    let start = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
    let fields = String(repeating: "A: b\r\n", count: 255)
    #expect(try ParsedResponse(start + fields + "\r\n").head?.headers.count == 256)
    #expect(kindOfError { _ = try ParsedResponse(start + fields + "A: b\r\n\r\n") } == .tooLarge)
  }

  @Test func `a folded line is joined to the one before it by a space`() throws {
    let text = "HTTP/1.1 200 OK\r\nA: b\r\n  c \r\n\td\r\nE:\r\n f\r\nContent-Length: 0\r\n\r\n"
    let head = try #require(try ParsedResponse(text).head)
    #expect(head.headers["A"] == "b c d")
    #expect(head.headers["E"] == "f")
    #expect(head.headers.count == 3)
  }

  @Test func `100 interim responses are skipped, and 101 refused`() throws {
    let interim = String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 100)
    #expect(try ParsedResponse(interim + "HTTP/1.1 204 No\r\n\r\n").head?.status == 204)
    #expect(kindOfError { _ = try ParsedResponse(interim + "HTTP/1.1 100 Continue\r\n\r\n") } == .badResponse)
  }

  @Test func `the line before a chunk and the trailers are bounded`() {
    let start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    let long = String(repeating: "a", count: 64 << 10)
    #expect(kindOfError { _ = try ParsedResponse(start + "5;\(long)") } == .tooLarge)
    #expect(kindOfError { _ = try ParsedResponse(start + "0\r\nA: \(long)") } == .tooLarge)
    let trailers = String(repeating: "A: b\r\n", count: 257)
    #expect(kindOfError { _ = try ParsedResponse(start + "0\r\n\(trailers)\r\n") } == .tooLarge)
  }

  @Test func `a body longer than an Int of 32 bits is counted`() throws {
    let parsed = try ParsedResponse("HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\nhello")
    #expect(!parsed.isComplete)
    #expect(parsed.body == Data("hello".utf8))
  }

  @Test func `T3: chunks that hold little but what frames them are too large`() throws {
    let start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    let chunk = "1;" + String(repeating: "x", count: 4000) + "\r\n.\r\n"
    #expect(try ParsedResponse(start + String(repeating: chunk, count: 10) + "0\r\n\r\n").isComplete)
    #expect(kindOfError { _ = try ParsedResponse(start + String(repeating: chunk, count: 20)) } == .tooLarge)
    let fair = "40;" + String(repeating: "x", count: 1000) + "\r\n" + String(repeating: ".", count: 64) + "\r\n"
    #expect(try ParsedResponse(start + String(repeating: fair, count: 2000) + "0\r\n\r\n").body.count == 128_000)
  }

  @Test func `many small chunks that come at once are one piece`() throws {
    let text =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + String(repeating: "1\r\n.\r\n", count: 5000)
    var parser = HTTP1Parser()
    var parts: [HTTPResponsePart] = []
    _ = try Array(text.utf8).withUnsafeBytes { try parser.consume($0, into: &parts) }
    #expect(parts.count == 2)
  }

  @Test func `fields keep their order, their case and their repetitions`() throws {
    let parsed = try ParsedResponse("HTTP/1.1 204 OK\r\nSet-Cookie: a\r\nX-A:\t b \t\r\nset-cookie:b\r\nE:\r\n\r\n")
    #expect(parsed.head?.headers.map(\.name) == ["Set-Cookie", "X-A", "set-cookie", "E"])
    #expect(parsed.head?.headers.map(\.value) == ["a", "b", "b", ""])
  }

  @Test func `the server's keep-alive timeout is read`() throws {
    var parser = HTTP1Parser()
    var parts: [HTTPResponsePart] = []
    let text = "HTTP/1.1 204 OK\r\nKeep-Alive: timeout=5, max=100\r\n\r\n"
    _ = try Array(text.utf8).withUnsafeBytes { try parser.consume($0, into: &parts) }
    #expect(parser.keepAliveTimeout == 5)
  }

  @Test func `random bytes never crash the parser`() {
    var generator = SystemRandomNumberGenerator()
    let seeds = Self.valid.map { Array($0.text.utf8) } + Self.invalid.map { Array($0.utf8) }
    for _ in 0..<20_000 {
      var bytes = seeds.randomElement(using: &generator) ?? []
      for _ in 0...Int.random(in: 0...4, using: &generator) where !bytes.isEmpty {
        bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      let cut = Int.random(in: 0...bytes.count, using: &generator)
      let pieces = [Array(bytes[..<cut]), Array(bytes[cut...])]
      let whole = try? ParsedResponse([bytes], isClosed: true)
      let split = try? ParsedResponse(pieces, isClosed: true)
      #expect(whole == split, "\(bytes), cut at \(cut)")
    }
  }
}

extension ParsedResponse {
  /// What there is before a head has ended.
  static var nothing: ParsedResponse? { try? ParsedResponse([]) }
}
