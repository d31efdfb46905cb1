import Foundation
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

struct RequestWriterTests {
  private func head(
    _ method: HTTPMethod, _ url: String, headers: HTTPHeaders = [:], body: Data? = nil, writer: RequestWriter = .init()
  ) throws -> [String] {
    let request = try HTTPRequest(method: method, url: #require(URL(string: url)), headers: headers, body: body)
    try request.checkWritable()
    return String(decoding: writer.head(of: request), as: UTF8.self).components(separatedBy: "\r\n")
  }

  @Test func `a request names path, query and host`() throws {
    #expect(
      try head(.get, "http://Example.com/a%20b?c=%22d") == ["GET /a%20b?c=%22d HTTP/1.1", "Host: example.com", "", ""])
    #expect(try head(.get, "http://example.com:80").prefix(2) == ["GET / HTTP/1.1", "Host: example.com"])
    #expect(try head(.get, "https://example.com:443").prefix(2) == ["GET / HTTP/1.1", "Host: example.com"])
    #expect(try head(.get, "http://[::1]:8080/?q").prefix(2) == ["GET /?q HTTP/1.1", "Host: [::1]:8080"])
  }

  @Test func `a body is announced by its length, and its absence where the method expects one`() throws {
    #expect(try head(.post, "http://h/", body: Data("hi".utf8)).contains("Content-Length: 2"))
    #expect(try head(.post, "http://h/").contains("Content-Length: 0"))
    #expect(try head(.put, "http://h/", body: Data()).contains("Content-Length: 0"))
    #expect(try !head(.get, "http://h/").contains("Content-Length: 0"))
    #expect(try !head(.delete, "http://h/", body: Data()).contains("Content-Length: 0"))
    #expect(try head(.delete, "http://h/", body: Data("hi".utf8)).contains("Content-Length: 2"))
  }

  @Test func `fields are written as they are, and defaults only where they are missing`() throws {
    let writer = RequestWriter(defaults: [("Accept-Encoding", "gzip"), ("Accept", "*/*")])
    let lines = try head(.get, "http://h/", headers: ["accept": "a/b", "X": "1"], writer: writer)
    #expect(lines == ["GET / HTTP/1.1", "Host: h", "accept: a/b", "X: 1", "Accept-Encoding: gzip", "", ""])
  }

  @Test func `a Host of the request's own is the only one`() throws {
    #expect(try head(.get, "http://h/", headers: ["host": "other"]) == ["GET / HTTP/1.1", "host: other", "", ""])
    var twice: HTTPHeaders = ["Host": "a"]
    try twice.append("host", "b")
    #expect(kindOfError { _ = try head(.get, "http://h/", headers: twice) } == .invalidRequest)
  }

  @Test(arguments: ["Content-Length", "transfer-encoding", "Connection", "Upgrade", "TE", "Trailer", "Expect"])
  func `a request that frames itself is refused`(_ name: String) throws {
    var headers = HTTPHeaders()
    try headers.set(name, to: "1")
    #expect(kindOfError { _ = try head(.get, "http://h/", headers: headers) } == .invalidRequest)
  }

  @Test func `a request that asks for trailers says that this is about the connection`() throws {
    #expect(
      try head(.get, "http://h/", headers: ["TE": "trailers"])
        == ["GET / HTTP/1.1", "Host: h", "TE: trailers", "Connection: TE", "", ""])
  }

  @Test func `a proxy gets the whole URL, and its own credentials`() throws {
    let writer = RequestWriter(form: .absolute, proxyAuthorization: "Basic eA==")
    #expect(
      try head(.get, "http://h:81/p?q", writer: writer)
        == ["GET http://h:81/p?q HTTP/1.1", "Host: h:81", "Proxy-Authorization: Basic eA==", "", ""])
    for host in ["::1", "::1%eth0"] {
      #expect(
        String(decoding: writer.connectHead(toHost: host, port: 443), as: UTF8.self)
          == "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\nProxy-Authorization: Basic eA==\r\n\r\n")
    }
  }
}
