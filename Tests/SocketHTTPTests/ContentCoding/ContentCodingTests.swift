import HTTPClientCore
import SocketHTTP
import Testing

struct ContentCodingTests {
  private func headers(_ values: String...) throws -> HTTPHeaders {
    var headers = HTTPHeaders()
    for value in values { try headers.append("Content-Encoding", value) }
    return headers
  }

  @Test func `a coding is known by its names, in any case`() throws {
    #expect(try ContentCoding(of: headers("gzip")) == .gzip)
    #expect(try ContentCoding(of: headers("X-GZip ")) == .gzip)
    #expect(try ContentCoding(of: headers("Deflate")) == .deflate)
    #expect(try ContentCoding(of: headers("identity, gzip")) == .gzip)
  }

  @Test func `no coding, identity and an empty list are none`() throws {
    #expect(try ContentCoding(of: headers()) == nil)
    #expect(try ContentCoding(of: headers("identity")) == nil)
    #expect(try ContentCoding(of: headers("", " , ")) == nil)
  }

  @Test func `a coding that was not requested, or two of them, is a bad response`() throws {
    for values in [["br"], ["gzip, gzip"], ["gzip", "deflate"], ["\u{1B}[2J"]] {
      let headers = HTTPHeaders(values.map { HTTPField(received: "Content-Encoding", value: $0) })
      let error = #expect(throws: RequestError.self) { try ContentCoding(of: headers) }
      #expect(error?.kind == .badResponse)
      #expect(error?.message.contains("\u{1B}") == false)
    }
  }

  @Test func `both codings are requested where there is a zlib`() {
    #expect(Inflater.isAvailable)
    #expect(ContentCoding.accepted == "gzip, deflate")
  }

  @Test func `identity is requested where there is no zlib, and a coding refused`() throws {
    #expect(ContentCoding.accepted(hasLibrary: false) == "identity")
    #expect(try ContentCoding(of: headers("identity"), hasLibrary: false) == nil)
    for coding in ["gzip", "x-gzip", "deflate"] {
      let error = #expect(throws: RequestError.self) { try ContentCoding(of: headers(coding), hasLibrary: false) }
      #expect(error?.kind == .badResponse)
    }
  }
}
