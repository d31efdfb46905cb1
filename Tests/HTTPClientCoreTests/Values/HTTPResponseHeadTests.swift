import Foundation
import HTTPClientCore
import Testing

@Suite struct HTTPResponseHeadTests {
  @Test(arguments: [
    ("application/json", "application/json"), ("Application/JSON; charset=utf-8", "application/json"),
    (" text/html ;q=1", "text/html"), ("application/vnd.a+json;charset=utf-8;v=1", "application/vnd.a+json"),
    ("", nil), (";", nil), ("  ", nil),
  ])
  func `the media type is lower case and without parameters`(value: String, type: String?) throws {
    var headers = HTTPHeaders()
    try headers.set("content-type", to: value)
    #expect(HTTPResponseHead(status: 200, headers: headers).mediaType == type)
  }

  @Test func `a response without Content-Type has no media type`() {
    #expect(HTTPResponseHead(status: 200).mediaType == nil)
  }

  @Test(arguments: [(199, false), (200, true), (204, true), (299, true), (300, false), (600, false), (0, false)])
  func `200 to 299 are success`(status: Int, isSuccess: Bool) {
    #expect(HTTPResponseHead(status: status).isSuccess == isSuccess)
  }

  @Test func `a field from a peer is taken as it came, without the white space around it`() {
    let field = HTTPField(received: "X-Odd name", value: "\t a\tb \t")
    #expect(field.name == "X-Odd name")
    #expect(field.value == "a\tb")
  }

  @Test func `S3: what a response, its parts and a WebSocket's request print holds neither secrets nor bodies`() throws
  {
    let headers: HTTPHeaders = ["Content-Type": "text/plain", "Set-Cookie": "canary-cookie"]
    let response = HTTPResponse(status: 200, headers: headers, body: Data("canary-body".utf8))
    #expect(response.description == "200\nContent-Type: text/plain\nSet-Cookie: <redacted>\n\n11 bytes")
    #expect(HTTPResponseHead(status: 204).description == "204")
    let part = MultipartPart(headers: headers, body: Data("canary-body".utf8))
    let url = try #require(URL(string: "wss://example.com/live?token=canary-token"))
    let socket = try WebSocketRequest(
      url: url, headers: ["Authorization": "Bearer canary-token"], subprotocols: ["graphql-transport-ws"])
    #expect(socket.description.hasPrefix("WebSocket wss://example.com/live"))
    for value in [response, response.head, HTTPResponsePart.head(response.head), part, socket] as [any Sendable] {
      var dumped = ""
      dump(value, to: &dumped)
      for text in ["\(value)", String(reflecting: value), dumped] { #expect(!text.contains("canary"), "\(text)") }
    }
  }

  @Test func `a failure and a closure of a WebSocket are one line for people`() {
    let head = HTTPResponseHead(status: 403)
    #expect("\(WebSocketFailure.refused(head))" == "The server refused the WebSocket with status 403.")
    #expect(WebSocketFailure.refused(head) == .refused(head))
    #expect(WebSocketFailure.refused(head) != .badHandshake(head))
    #expect("\(WebSocketClosure(code: .normal, reason: "bye\n"))" == "1000: bye\\n")
  }

  @Test func `summaries of requests are equal by their values, and print one line`() {
    let failed = RequestOutcome.failed(RequestError(.httpStatus, "No.", status: 503))
    let summary = RequestSummary(outcome: failed, status: 503, attemptCount: 2, duration: .seconds(1))
    #expect(summary == RequestSummary(outcome: failed, status: 503, attemptCount: 2, duration: .seconds(1)))
    #expect(RequestEvent.ended(summary) != .ended(RequestSummary(outcome: .succeeded)))
    let line = "failed: HTTP status: No. with status 503 after 1.0 seconds, attempts: 2, bytes sent: 0, received: 0"
    #expect(summary.description == line)
  }

}
