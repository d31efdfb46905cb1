import Foundation
import HTTPTestSupport
import Streams
import Testing

@testable import HTTP

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
      #expect(parsed == bodies && isComplete, "in pieces of \(size)")
    }
  }

  @Test func `a body without its last delimiter is not complete`() throws {
    #expect(try Self.bodies("--b\r\n\r\n1\r\n--b\r\n\r\n2", "b", pieces: 3) == (["1"], false))
  }

  @Test func `a body that is whole need not wait for its delimiter, and comes once`() throws {
    var parser = MultipartParser(boundary: "b") { body in body.withUnsafeBytes { $0.last == UInt8(ascii: "}") } }
    #expect(try parser.consume(Data("--b\r\n\r\n{".utf8)) == [])
    #expect(try parser.consume(Data("}".utf8)).map(\.body) == [Data("{}".utf8)])
    #expect(try parser.consume(Data("\r\n--b\r\n\r\n{}\r\n--b--".utf8)).map(\.body) == [Data("{}".utf8)])
    #expect(parser.isComplete)
  }

  @Test(arguments: ["", "\r\n", "\r\n-", "\r\n--b", "\r\n--b\r"])
  func `a body that is whole does not wait for the end of its delimiter's line`(start: String) throws {
    // As Strawberry sends it: each delimiter's line ends with the next part.
    var parser = MultipartParser(boundary: "b") { body in body.withUnsafeBytes { $0.last == UInt8(ascii: "}") } }
    #expect(try parser.consume(Data("--b".utf8)) == [])
    #expect(try parser.consume(Data("\r\nA: b\r\n\r\n{}\(start)".utf8)).map(\.body) == [Data("{}".utf8)])
    let rest = "\r\n--b\r\nA: b\r\n\r\n{1}".utf8.dropFirst(start.utf8.count)
    #expect(try parser.consume(Data(rest)).map(\.body) == [Data("{1}".utf8)])
    #expect(try parser.consume(Data("\r\n--b--".utf8)) == [] && parser.isComplete)
  }

  @Test func `the bytes of a part are not copied to ask whether it is whole`() throws {
    let places = Locked<Set<UInt>>([])
    var parser = MultipartParser(boundary: "b") { body in
      let place = body.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
      places.withLock { _ = $0.insert(place) }
      return false
    }
    _ = try parser.consume(Data("--b\r\n\r\n".utf8))
    let piece = Data(repeating: UInt8(ascii: "x"), count: 1_000)
    for _ in 0..<500 { _ = try parser.consume(piece) }
    // The buffer moves only where it grows, to twice its size.
    #expect(places.withLock { $0.count } <= 24)
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
    ("application/json", nil),
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
