import HTTP
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
}
