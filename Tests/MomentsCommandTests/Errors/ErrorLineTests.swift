import HTTP
import Networking
import Repository
import Testing

@testable import moments

struct ErrorLineTests {
  @Test func `a line names the kind and says what happened`() {
    #expect("\(ErrorLine(UsageError("no such option")))" == "moments: wrong usage: no such option")
    #expect("\(ErrorLine(RequestError(.timedOut, "After 2 s.")))" == "moments: timed out: After 2 s.")
    #expect("\(ErrorLine(CancellationError()))".hasPrefix("moments: cancelled: "))
    #expect("\(ErrorLine(OutputError(code: 28)))".contains("No space left"))
    #expect("\(ErrorLine(StoreError.notCached))".hasPrefix("moments: not cached: "))
  }

  @Test func `the start of a response is shown where it is known`() {
    let error = RequestError(.httpStatus, "Status 404.", status: 404, excerpt: "not here")
    #expect("\(ErrorLine(error))" == "moments: HTTP status: Status 404. (the response begins: not here)")
  }

  @Test func `an error is one bounded, sanitized line`() {
    let evil = String(repeating: "\u{1B}[2J\r\n\u{202E}\u{200B}", count: 10_000)
    for error: any Error in [UsageError(evil), RequestError(.graphQL, evil, excerpt: evil)] {
      let line = "\(ErrorLine(error))"
      #expect(line.utf8.count < 20_000)
      #expect(line.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) || $0 == "…" })
    }
  }
}
