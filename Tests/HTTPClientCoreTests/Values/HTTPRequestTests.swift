import Foundation
import HTTPClientCore
import HTTPTestSupport
import Testing

@Suite struct HTTPRequestTests {
  @Test func `a request is not to be sent twice unless it says so`() throws {
    #expect(try !request().isReplayable)
    #expect(try HTTPRequest(method: .get, url: url("http://h"), isReplayable: true).isReplayable)
  }

  @Test
  func `a method decides whether a request may be sent again, also after it has changed, unless the request says`()
    throws
  {
    let get = try HTTPRequest(method: .get, url: url("http://h"))
    #expect(get.isReplayable)
    #expect(try !get.to(url("http://h"), method: .post).isReplayable)
    var (forbidden, declared) = (get, try request())
    (forbidden.isReplayable, declared.isReplayable) = (false, true)
    #expect(!forbidden.isReplayable)
    #expect(declared.isReplayable)
  }

  @Test func `timeouts are 10 seconds to connect, 30 between signs of life and 60 in all`() throws {
    let timeouts = try request().timeouts
    #expect(timeouts == HTTPTimeouts(connect: .seconds(10), idle: .seconds(30), total: .seconds(60)))
  }

  @Test func `a change of a copy leaves the request as it is`() throws {
    let request = try HTTPRequest(method: .get, url: url("http://h"), headers: ["A": "1"], body: Data("b".utf8))
    var copy = request
    try copy.headers.set("A", to: "2")
    copy.body = nil
    copy.timeouts.total = .seconds(1)
    copy.operationName = "Copy"
    copy.onProgress = { _ in }
    #expect(request.headers["A"] == "1")
    #expect(request.body == Data("b".utf8))
    #expect(request.timeouts == HTTPTimeouts())
    #expect(request.operationName == nil)
    #expect(request.onProgress == nil)
    #expect(copy.headers["A"] == "2")
    #expect(copy.timeouts.total == .seconds(1))
    #expect(copy.onProgress != nil)
  }

  @Test func `a request with another URL keeps everything else`() throws {
    let first = try request(headers: ["X-A": "a"], body: Data("b".utf8), operationName: "getUser")
    let second = try first.to(url("https://h.example:8443/x?y"))
    #expect(second.url.absoluteString == "https://h.example:8443/x?y")
    #expect(second.origin.port == 8443)
    #expect(second.method == .post)
    #expect(second.headers == first.headers)
    #expect(second.body == first.body)
    #expect(second.operationName == "getUser")
    #expect(second.timeouts == first.timeouts)
    #expect(try first.to(url("http://h"), method: .get).method == .get)
    let error = #expect(throws: RequestError.self) { try first.to(url("ftp://h/")) }
    #expect(error?.kind == .invalidRequest)
  }

  @Test func `S3: no print or dump of a request shows what may be secret`() throws {
    let headers: HTTPHeaders = ["Authorization": "canary-1"]
    let request = try HTTPRequest(
      method: .post, url: url("https://h.example/a?token=canary-2"), headers: headers, body: Data("canary-3".utf8))
    var dumped = ""
    dump(request, to: &dumped)
    #expect("\(request)" == "POST https://h.example/a?token=…, 8 bytes")
    for text in [dumped, "\(request)", String(reflecting: request)] { #expect(!text.contains("canary")) }
  }

  @Test(arguments: [
    "Content-Length", "transfer-encoding", "CONNECTION", "Upgrade", "te", "Trailer", "expect", "Keep-Alive",
    "Proxy-Connection", "Proxy-Authorization",
  ])
  func `a header that frames the message is refused`(name: String) throws {
    var request = try request(operationName: "getUser")
    #expect(throws: Never.self) { try request.checkFraming() }
    try request.headers.set(name, to: "0")
    let error = #expect(throws: RequestError.self) { try request.checkFraming() }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.lowercased().contains(name.lowercased()) == true)
    #expect(error?.operationName == "getUser")
  }
}
