import Foundation
import HTTPTestSupport
import Streams
import SystemBase
import Testing

@testable import HTTPClientCore

@Suite struct MultipartTests {
  /// The bodies of the parts of a text that arrives in pieces of a size, and whether it is complete.
  private static func bodies(_ text: String, _ boundary: String = "-", pieces size: Int) throws -> ([String], Bool) {
    var parser = MultipartParser(boundary: boundary)
    let bytes = Data(text.utf8)
    let parts = try stride(from: 0, to: bytes.count, by: size).flatMap { start in
      try parser.consume(bytes[start..<min(start + size, bytes.count)])
    }
    return (parts.map { String(decoding: $0.body, as: UTF8.self) }, parser.isComplete)
  }

  @Test(arguments: [
    // As Apollo's router sends it.
    (
      "\r\n---\r\nContent-Type: application/json\r\n\r\n{}\r\n---\r\nA: b\r\n\r\n{\"payload\":1}\r\n-----\r\n",
      ["{}", "{\"payload\":1}"]
    ),
    // Without the line before the first delimiter, with one line end, with a preamble and an epilogue.
    ("---\n\n1\n---\nA: b\n\n\n2\n\n-----", ["1", "\n2\n"]),
    ("preamble\r\n--- \t\r\n\r\n1\r\n-----\r\nepilogue\r\n---\r\n\r\nnone", ["1"]),
    // Without the first delimiter, and with an empty part before the end, as Strawberry sends it.
    ("Content-Type: application/json\r\n\r\n{}\r\n---\r\n\r\n\r\n-----\r\n", ["{}"]),
    ("---\r\n-----", []),
    // The boundary's text in a body.
    ("---\r\n\r\na---\r\n----b\r\n---c\r\n-----\r\n", ["a---\r\n----b\r\n---c"]),
  ])
  func `a body gives the same parts however it is split`(text: String, bodies: [String]) throws {
    for size in 1...(text.utf8.count + 1) {
      let (parsed, isComplete) = try Self.bodies(text, pieces: size)
      #expect(parsed == bodies, "in pieces of \(size)")
      #expect(isComplete, "in pieces of \(size)")
    }
  }

  @Test func `a body without its last delimiter is not complete`() throws {
    #expect(try Self.bodies("--b\r\n\r\n1\r\n--b\r\n\r\n2", "b", pieces: 3) == (["1"], false))
  }

  @Test func `a body that is whole need not wait for its delimiter, and comes once`() throws {
    var parser = MultipartParser(boundary: "b", endsWithJSON: true)
    #expect(try parser.consume(Data("--b\r\n\r\n{".utf8)) == [])
    #expect(try parser.consume(Data("}".utf8)).map(\.body) == [Data("{}".utf8)])
    #expect(try parser.consume(Data("\r\n--b\r\n\r\n{}\r\n--b--".utf8)).map(\.body) == [Data("{}".utf8)])
    #expect(parser.isComplete)
  }

  @Test(arguments: ["", "\r\n", "\r\n-", "\r\n--b", "\r\n--b\r"])
  func `a body that is whole does not wait for the end of its delimiter's line`(start: String) throws {
    // As Strawberry sends it: each delimiter's line ends with the next part.
    var parser = MultipartParser(boundary: "b", endsWithJSON: true)
    #expect(try parser.consume(Data("--b".utf8)) == [])
    #expect(try parser.consume(Data("\r\nA: b\r\n\r\n{}\(start)".utf8)).map(\.body) == [Data("{}".utf8)])
    let rest = "\r\n--b\r\nA: b\r\n\r\n{1}".utf8.dropFirst(start.utf8.count)
    #expect(try parser.consume(Data(rest)).map(\.body) == [Data("{1}".utf8)])
    #expect(try parser.consume(Data("\r\n--b--".utf8)) == [])
    #expect(parser.isComplete)
  }

  @Test(arguments: [
    (#"{"a":"}"#, false), (#"{"a":"}"}"#, true), (#"{"a":"\"}"#, false), (#"{"a":"\\"}"#, true), ("{}{", false),
    ("1}", false),
    (" {\"a\":{}} ", true), ("{}\r\n-", true), ("[{}]", false),
  ])
  func `a body is whole with the brace that ends its object, outside of strings`(body: String, isWhole: Bool) throws {
    for size in 1...body.utf8.count {
      var parser = MultipartParser(boundary: "b", endsWithJSON: true)
      var parts = try parser.consume(Data("--b\r\n\r\n".utf8))
      let bytes = Data(body.utf8)
      for start in stride(from: 0, to: bytes.count, by: size) {
        parts += try parser.consume(bytes[start..<min(start + size, bytes.count)])
      }
      // In small pieces, what comes behind the object comes too late.
      if isWhole || size >= bytes.count { #expect(parts.isEmpty != isWhole, "in pieces of \(size)") }
    }
  }

  @Test(arguments: [
    ("a part whose pieces end with braces", "--b\r\n\r\n{", String(repeating: "a", count: 1023) + "}"),
    ("a part of many lines", "--b\r\n\r\n", String(repeating: "--a\n", count: 256)),
    ("header fields without end", "--b\r\n", String(repeating: "x", count: 1024)),
    ("a preamble without a line's end", "", String(repeating: "x", count: 1024)),
    ("a preamble of empty lines", "", String(repeating: "\n", count: 1024)),
    ("blanks behind a delimiter", "--b", String(repeating: " ", count: 1024)),
  ])
  func `a body of 256 KiB takes steps in proportion to its size, in pieces and at once`(
    name: String, start: String, piece: String
  ) throws {
    for pieces in [256, 1] {
      var parser = MultipartParser(boundary: "b", limit: 16 << 20, endsWithJSON: true)
      let piece = Data(String(repeating: piece, count: 256 / pieces).utf8)
      _ = try parser.consume(Data(start.utf8))
      for _ in 0..<pieces { _ = try parser.consume(piece) }
      #expect(parser.steps < 4 * 256 << 10, "in \(pieces) pieces")
    }
  }

  @Test func `T6: a part's field that takes long to compare is replaced by one that does not`() throws {
    let marks = String(repeating: "\u{301}\u{323}", count: 10_000)
    var parser = MultipartParser(boundary: "b")
    let parts = try parser.consume(Data("--b\r\nX-Name: x\(marks)\r\n\r\n1\r\n--b--".utf8))
    #expect(parts.first?.headers["X-Name"]?.isName == true)
  }

  @Test func `a line before the first part that takes long to compare takes time in proportion to its size`() throws {
    let marks = String(repeating: "\u{301}\u{316}", count: 100_000)
    var parser = MultipartParser(boundary: "b")
    let start = clock()
    let parts = try parser.consume(Data("c:\(marks)\r\n--b\r\n\r\n1\r\n--b--".utf8))
    // Swift takes half a minute to compare the line with another text.
    #expect(clock() - start < 3_000_000)
    #expect(parts.map(\.body) == [Data("1".utf8)])
  }

  @Test func `5,000 parts in one piece take steps in proportion to their number`() throws {
    let part = "--b\r\nContent-Type: application/json\r\n\r\n{\"items\":[1]}\r\n"
    var parser = MultipartParser(boundary: "b", endsWithJSON: true)
    let parts = try parser.consume(Data((String(repeating: part, count: 5_000) + "--b--").utf8))
    #expect(parser.steps < 2 * 5_000 * part.utf8.count)
    #expect(parts.count == 5_000)
    #expect(parser.isComplete)
  }

  @Test(arguments: [1, 7, 10_000])
  func `L2: parts before one over the limit are given, however the bytes are split`(size: Int) {
    let bytes = Data(
      ("--b\r\n\r\n1\r\n--b\r\n\r\n2\r\n--b\r\n\r\n" + String(repeating: "x", count: 200) + "\r\n--b--").utf8)
    var parser = MultipartParser(boundary: "b", limit: 100)
    var parts: [MultipartPart] = []
    let error = #expect(throws: RequestError.self) {
      for start in stride(from: 0, to: bytes.count, by: size) {
        parts += try parser.consume(bytes[start..<min(start + size, bytes.count)])
      }
      if let failure = parser.failure { throw failure }
    }
    #expect(error?.kind == .tooLarge)
    #expect(parts.map(\.body) == [Data("1".utf8), Data("2".utf8)])
    #expect(!parser.isComplete)
  }

  @Test func `a part over the limit is an error`() {
    var parser = MultipartParser(boundary: "b", limit: 100)
    let text = "--b\r\n\r\n" + String(repeating: "x", count: 101)
    let error = #expect(throws: RequestError.self) { try parser.consume(Data(text.utf8)) }
    #expect(error?.kind == .tooLarge)
  }

  @Test func `header fields without end are an error, however they are split`() {
    var parser = MultipartParser(boundary: "b", limit: 1000)
    let error = #expect(throws: RequestError.self) {
      _ = try parser.consume(Data("--b\r\n".utf8))
      for _ in 0..<200 { _ = try parser.consume(Data("A: b\r\nno field\r\n".utf8)) }
    }
    #expect(error?.kind == .tooLarge)
  }

  @Test(arguments: [
    ("multipart/mixed; boundary=graphql", "graphql"), ("multipart/mixed;boundary=\"a b\";deferSpec=20220824", "a b"),
    ("Multipart/Mixed", "-"), ("multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json", "graphql"),
    ("application/json", nil), (#"multipart/mixed; boundary="a;b,c""#, "a;b,c"),
    (#"multipart/mixed; boundary="a\"b\p""#, #"a"bp"#), (#"multipart/mixed; charset="; boundary=x"; boundary=y"#, "y"),
    ("multipart/mixed; Boundary = z ; a", "z"), (#"multipart/mixed; boundary="unclosed"#, "unclosed"),
    (#"multipart/mixed; boundary="""#, "-"), ("multipart/mixed; boundary", "-"), ("multipart/mixed; a=\"\\", "-"),
  ])
  func `the boundary is found in what servers send`(type: String, boundary: String?) throws {
    let headers = try HTTPHeaders([HTTPField(name: "Content-Type", value: type)])
    #expect(HTTPResponseHead(status: 200, headers: headers).multipartBoundary == boundary)
  }

  @Test func `a response gives its parts, and fails if it is cut off or not multipart`() async throws {
    let head = HTTPResponseHead(status: 200, headers: ["Content-Type": "multipart/mixed; boundary=b"])
    func response(_ body: String) -> Observable<HTTPResponsePart> { .from([.head(head), .body(Data(body.utf8))]) }
    #expect(try await response("--b\r\nA: 1\r\n\r\nx\r\n--b--").multipart().elements.map(\.headers["A"]) == ["1"])
    #expect(await response("--b\r\n").multipart().asSingle().failure?.kind == .connectionLost)
    let other = HTTPResponseHead(status: 200, headers: ["Content-Type": "text/html"])
    #expect(await Observable<HTTPResponsePart>.just(.head(other)).multipart().failure?.kind == .badResponse)
  }
}
