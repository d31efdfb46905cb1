import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite("the command and likes that are not sent")
struct UnsentLikeTests {
  private static let taken = RawResponse(body: #"{"data":{"updateMomentLike":\#(TimelineJSON.details)}}"#)

  /// The ids of what is in the outbox, as soon as that is so many.
  private func ids(_ options: [String], count: Int) async throws -> [String] {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      let list = try await Moments.run(["outbox", "list"] + options).outputText
      let ids = list.split { " \n".contains($0) }.map(String.init).filter { UUID(uuidString: $0) != nil }
      if ids.count >= count { return ids }
      try #require(ContinuousClock.now < deadline, "There are \(ids.count) likes.")
    }
  }

  @Test func `a wrong setting of one run sets nothing aside`() async throws {
    let account = try Account.offline()
    let options = ["--endpoint", "https://moments.invalid/", "--retries", "0"] + account.options.suffix(2)
    for id in ["m0", "m1"] { #expect(try await Moments.run(["like", id] + options).exitCode == 0) }
    let wrong = ["https_proxy": "proxy:3128x"]
    for arguments in [["timeline"], ["outbox", "flush"], ["like", "m2"]] {
      let result = try await Moments.run(arguments + options, environment: wrong)
      #expect(result.exitCode == 64)
      #expect(result.errorText.hasPrefix("moments: invalid request: "))
    }
    let list = try await Moments.run(["outbox", "list"] + options).outputText.split(separator: "\n")
    #expect(list.count == 3)
    #expect(list.allSatisfy { $0.hasPrefix("waiting  ") })
  }

  @Test func `flush ends as the server refuses, and what was set aside can be sent again`() async throws {
    let account = try Account.offline()
    let server = try ScriptedServer { number in
      switch number {
      case 0: [.readRequest, .close]
      case 1: [.readRequest, .send(RawResponse(403, contentType: "text/html", body: "<html>No.")), .close]
      default: .answering { _ in Self.taken }
      }
    }
    let options = ["--endpoint", server.url.absoluteString, "--retries", "0"] + account.options.suffix(2)
    #expect(try await Moments.run(["like", "m0"] + options).exitCode == 0)
    let flush = try await Moments.run(["outbox", "flush"] + options)
    #expect(flush.ending == .exited(77))
    #expect(flush.outputText == "0 sent, 1 refused, 0 waiting\n")
    #expect(flush.errorText.hasSuffix("is set aside.\n"))
    #expect(flush.errorText.filter { $0 == "\n" }.count == 1)
    let id = try await ids(options, count: 1)[0]
    try await Moments.run(["outbox", "retry", id] + options).expectSuccess()
    #expect(try await Moments.run(["outbox", "list"] + options).outputText.hasPrefix("waiting"))
    try await Moments.run(["outbox", "retry", id] + options).expectFailure(64, "wrong usage", saying: id)
    #expect(try await Moments.run(["outbox", "flush"] + options).outputText == "1 sent, 0 refused, 0 waiting\n")
  }

  @Test func `a like that another run discards before it is sent ends with 65`() async throws {
    let account = try Account.offline()
    let server = try ScriptedServer { number in
      number == 0 ? [.readRequest, .waitForClientToClose] : .answering { _ in Self.taken }
    }
    let options = ["--endpoint", server.url.absoluteString] + account.options.suffix(2)
    let sending = try Moments.start(["like", "m0"] + options)
    try await server.waitForRequests()
    let waiting = try Moments.start(["like", "m1"] + options)
    let kept = try await ids(options, count: 2)
    for id in kept { try await Moments.run(["outbox", "discard", id] + options).expectSuccess() }
    sending.send(SIGKILL)
    _ = try await sending.waitForEnd()
    let result = try await waiting.waitForEnd()
    #expect(result.ending == .exited(65))
    #expect(result.outputText == "")
    #expect(
      result.errorText.contains("'like m1 --user 0' was discarded by another run of the command, and not sent.\n"))
    #expect(server.requests.count == 1)
  }

  @Test func `a like that another run sends is reported in JSON, too`() async throws {
    let account = try Account.offline()
    let server = try ScriptedServer(.neverAnswering)
    let options = ["--endpoint", server.url.absoluteString] + account.options.suffix(2)
    let sending = try Moments.start(["like", "m0"] + options)
    try await server.waitForRequests()
    let waiting = try Moments.start(["like", "m1", "--json"] + options)
    for id in try await ids(options, count: 2) {
      // As a run that has sent it does.
      let folder = URL(fileURLWithPath: try #require(options.last))
      let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.contains(id) }
      for file in files { try FileManager.default.removeItem(at: folder.appending(path: file)) }
    }
    sending.send(SIGKILL)
    _ = try await sending.waitForEnd()
    let result = try await waiting.waitForEnd()
    #expect(result.exitCode == 0)
    #expect(result.errorText.contains("was sent by another run"))
    #expect(try JSONValue(result.output)["sent"]?["momentID"] == .string("m1"))
  }

  @Test func `--timeout is for all likes of a flush together, and for the timeline behind them`() async throws {
    for arguments in [["outbox", "flush"], ["--policy", "networkOnly"]] {
      let account = try Account.offline()
      for number in 0..<4 { _ = try await account.run("like", "m0-\(number)", "--retries", "0") }
      try await account.online { server in
        let options = account.options + ["--timeout", "0.6", "--header", "X-Latency-Ms: 250"]
        let result = try await Moments.run(arguments + options)
        #expect(result.exitCode == 69)
        #expect(result.errorText.contains("moments: timed out: "))
        #expect(try await server.stats().operations["updateMomentLike"] ?? 0 <= 3)
      }
    }
  }

  @Test func `a like that is queued, discarded and queued again is reported in JSON, too`() async throws {
    let account = try Account.offline()
    let queued = try JSONValue(try await account.run("like", "m0-1", "--json").output)["queued"]
    #expect(queued?["mutation"]?["momentID"] == .string("m0-1"))
    guard case .string(let id)? = queued?["id"] else { return #expect(queued?["id"] != nil) }
    let discarded = try await account.run("outbox", "discard", id, "--json")
    #expect(discarded.exitCode == 0)
    #expect(discarded.outputText == #"{"discarded":{"id":"\#(id)"}}"# + "\n")
  }
}
