import CommandLineBase
import HTTPClientCore
import Networking
import Repository
import Streams
import StrictJSON
import Testing

@testable import moments

struct ExitCodeTests {
  private struct Unforeseen: Error {}

  @Test(arguments: [
    (RequestError.Kind.cannotConnect, ExitCode.unreachable), (.connectionLost, .unreachable), (.timedOut, .unreachable),
    (.redirectRefused, .unreachable), (.insecure, .unreachable), (.cancelled, .cancelled), (.invalidRequest, .usage),
    (.circuitOpen, .unreachable), (.overloaded, .unreachable),
    (.graphQL, .unusableAnswer), (.undecodable, .unusableAnswer), (.tooLarge, .unusableAnswer),
    (.badResponse, .unusableAnswer), (.unknown, .unusableAnswer), (.notFound, .unusableAnswer),
    (RequestError.Kind("of another layer"), .unusableAnswer),
  ])
  func `each kind of error has a code`(kind: RequestError.Kind, code: ExitCode) {
    #expect(ExitCode(RequestError(kind, "message")) == code)
  }

  @Test(arguments: [
    (401, ExitCode.notAllowed), (403, .notAllowed), (429, .unreachable), (500, .unreachable), (503, .unreachable),
    (599, .unreachable), (400, .unusableAnswer), (404, .unusableAnswer), (600, .unreachable), (204, .unusableAnswer),
  ])
  func `each status has a code, also where the response could not be read`(status: Int, code: ExitCode) {
    #expect(ExitCode(RequestError(.httpStatus, "message", status: status)) == code)
    #expect(ExitCode(RequestError(.undecodable, "message", status: status)) == code)
  }

  @Test(arguments: [401, 403, 407, 502])
  func `a proxy that gives no tunnel means that the server was not reached`(status: Int) {
    #expect(ExitCode(RequestError(.cannotConnect, "message", status: status)) == .unreachable)
  }

  @Test
  func `a GraphQL error that demands a token has the code for a missing permission, wherever it stands in the list`() {
    let errors = [
      GraphQLError(message: "a"), GraphQLError(message: "b", extensions: ["code": .string("UNAUTHENTICATED")]),
    ]
    #expect(ExitCode(RequestError(.graphQL, "m", status: 200, cause: GraphQLErrors(errors))) == .notAllowed)
    #expect(ExitCode(RequestError(.graphQL, "m", status: 200, cause: GraphQLErrors([errors[0]]))) == .unusableAnswer)
  }

  @Test func `errors of the command itself have codes`() {
    #expect(ExitCode(UsageError("message")) == .usage)
    #expect(ExitCode(OutputError(code: 28)) == .outputFailed)
    #expect(ExitCode(CancellationError()) == .cancelled)
    #expect(ExitCode(Termination.asked) == .terminated)
    #expect(ExitCode(Termination.hungUp) == .hungUp)
    #expect(ExitCode(StreamError.noElements) == .unusableAnswer)
    #expect(ExitCode(StoreError.notCached) == .unusableAnswer)
    #expect(ExitCode(Unforeseen()) == .unusableAnswer)
  }

  @Test func `the help lists each code`() {
    for code in [
      ExitCode.success, .usage, .unusableAnswer, .unreachable, .outputFailed, .notAllowed, .hungUp, .cancelled,
      .terminated,
    ] {
      #expect(Help.text.contains("\n  \(code.rawValue) "))
    }
  }
}

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
