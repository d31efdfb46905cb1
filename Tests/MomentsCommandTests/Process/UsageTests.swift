import TestSupport
import Testing

@testable import moments

@Suite("wrong usage of the command")
struct UsageTests {
  @Test(arguments: [
    ["--bogus"], ["publish"], ["like"], ["like", ""], ["like", "a", "b"], ["timeline", "0"], ["--user"], ["--user="],
    ["--user=1", "--user=2"], ["--json=1"], ["--timeout", "0"], ["--timeout", "-1"], ["--timeout", "nan"],
    ["--timeout", "inf"], ["--timeout", "1e3"], ["--timeout", "0x1"], ["--timeout", "1,5"], ["--timeout", "x"],
    ["--endpoint", "example.com"], ["--endpoint", "ftp://example.com/"], ["--endpoint", "http://example.com/"],
    ["--endpoint", "http://0.0.0.0/"], ["--endpoint", "https://me:word@example.com/"], ["--endpoint", ""],
    ["--header", "X"], ["--header", ": x"], ["--header", "X: a\r\nY: b"], ["--header", "X\n: a"],
    ["--header", "Authorization: Bearer x"], ["--header", "Cookie: a=b"],
    ["--policy", "never"], ["--policy="], ["--cache-dir="], ["cache", "stats"], ["cache", "clear"], ["outbox", "list"],
    ["outbox", "flush"], ["cache", "--cache-dir=x"], ["outbox", "sell", "--cache-dir=x"],
    ["outbox", "retry", "--cache-dir=x"],
    ["cache", "stats", "clear", "--cache-dir=x"],
  ])
  func `wrong usage ends with 64 and one line`(arguments: [String]) async throws {
    try await Moments.run(arguments).expectFailure(64, "wrong usage")
  }

  @Test(arguments: [
    ["MOMENTS_ENDPOINT": "example.com"], ["MOMENTS_ENDPOINT": "http://example.com/"], ["MOMENTS_TOKEN": "a\nb"],
    ["MOMENTS_TOKEN": "a b"],
  ])
  func `the environment may be wrong, too`(environment: [String: String]) async throws {
    try await Moments.run([], environment: environment).expectFailure(64, "wrong usage", saying: "MOMENTS_")
  }

  @Test func `a terminal is not driven by what stands on the command line`() async throws {
    try await Moments.run(["--\u{1B}[2J\n"]).expectFailure(64, "wrong usage", saying: #"\u{1B}[2J\n"#)
  }

  @Test func `headers that frame the message are wrong usage`() async throws {
    let port = try RefusingPort()
    let endpoint = "http://127.0.0.1:\(port.port)/"
    try await Moments.run(["--endpoint", endpoint, "--header", "Content-Length: 1"])
      .expectFailure(64, "wrong usage", saying: "Content-Length")
  }

  @Test func `help and version are results`() async throws {
    let help = try await Moments.run(["--help"])
    help.expectSuccess()
    let words = Set(help.outputText.split { !$0.isLetter && $0 != "-" })
    for option in Option.allCases { #expect(words.contains("--\(option.rawValue)")) }
    #expect(try await Moments.run(["-h"]).outputText == help.outputText)
    let version = try await Moments.run(["--version"])
    version.expectSuccess()
    #expect(version.outputText.wholeMatch(of: /moments \d+\.\d+\.\d+\n/) != nil)
  }

  @Test func `help fits 80 columns`() {
    #expect(Help.text.split(separator: "\n").allSatisfy { $0.columns <= 80 })
  }
}
