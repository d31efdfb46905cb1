import HTTP
import Testing

@testable import moments

struct HTTPFieldArgumentTests {
  @Test(arguments: [
    ("X-A: 1", "X-A", "1"), ("X-A:1", "X-A", "1"), ("X-A:  1  ", "X-A", "1"), ("X-A:", "X-A", ""),
    ("X-A:  ", "X-A", ""), ("a!#$%&'*+-.^_`|~9: b: c", "a!#$%&'*+-.^_`|~9", "b: c"), ("X-A: 早 安", "X-A", "早 安"),
  ])
  func `a field is split at its first colon`(text: String, name: String, value: String) throws {
    let header = try HTTPField(argument: text)
    #expect(header.name == name)
    #expect(header.value == value)
  }

  @Test(arguments: [
    "", "X-A", ":", ": 1", " X-A: 1", "X-A : 1", "X A: 1", "X\r\nB: 1", "早: 1", "X(: 1", "X-A: a\r\nX-B: b", "X-A: a\n",
    "X-A: \u{0}", "X-A: a\tb", "X-A: \u{85}", "X-A: \u{7F}", "X-A: \u{1B}[31m",
  ])
  func `a broken field is wrong usage`(text: String) {
    #expect(throws: UsageError.self) { try HTTPField(argument: text) }
  }

  @Test(arguments: ["Authorization: Bearer canary", "proxy-authorization: canary", "COOKIE: id=canary"])
  func `credentials as an argument are wrong usage, and are not shown`(text: String) throws {
    let error = try #require(throws: UsageError.self) { try HTTPField(argument: text) }
    #expect(error.message.contains("MOMENTS_TOKEN"))
    #expect(!error.message.contains("canary"))
  }

  @Test func `the error of a broken value does not show it`() throws {
    let error = try #require(throws: UsageError.self) { try HTTPField(argument: "X-Key: canary\u{1}") }
    #expect(error.message.contains("X-Key") && !error.message.contains("canary"))
  }

  @Test func `no print or dump of the arguments shows a value`() throws {
    let arguments = try Arguments(["--header", "X-Key: canary"])
    var dumped = ""
    dump(arguments, to: &dumped)
    #expect(!dumped.contains("canary") && !"\(arguments)".contains("canary"))
  }
}
