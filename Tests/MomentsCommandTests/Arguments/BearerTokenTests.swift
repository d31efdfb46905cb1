import Testing

@testable import moments

struct BearerTokenTests {
  @Test func `a token becomes an authorization header`() throws {
    #expect(try BearerToken("a.b-c_d~e+f/g==|1").authorization == "Bearer a.b-c_d~e+f/g==|1")
  }

  @Test(arguments: ["", " canary", "canary\n", "can ary", "can\r\nary: x", "canary\u{7F}", "canäry", "canary\t"])
  func `a token that is no header value is wrong usage, and is not shown`(text: String) throws {
    let error = try #require(throws: UsageError.self) { try BearerToken(text) }
    #expect(error.message.contains("MOMENTS_TOKEN"))
    #expect(!error.message.contains("canary") && !error.message.contains("äry"))
  }

  @Test func `no print or dump shows the token`() throws {
    let arguments = try Arguments([], environment: ["MOMENTS_TOKEN": "canary"])
    var dumped = ""
    dump(arguments, to: &dumped)
    #expect(dumped.contains("<redacted>") && !dumped.contains("canary"))
    #expect(!"\(arguments)".contains("canary"))
    #expect(!String(reflecting: arguments).contains("canary"))
  }

  @Test func `an empty token counts as none, and arguments cannot hold one`() throws {
    #expect(try Arguments([], environment: ["MOMENTS_TOKEN": ""]).token == nil)
    #expect(throws: UsageError.self) { try Arguments([], environment: ["MOMENTS_TOKEN": "a b"]) }
    #expect(throws: UsageError.self) { try Arguments(["--token", "canary"]) }
  }
}
