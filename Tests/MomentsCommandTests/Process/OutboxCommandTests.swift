import Foundation
import TestSupport
import Testing

@Suite("the command's outbox")
struct OutboxCommandTests {
  @Test func `a like without a server is queued, says so, is shown, and ends with 0`() async throws {
    let account = try Account.offline()
    try await account.online { _ in try await account.run("timeline").expectSuccess() }
    let like = try await account.run("like", "m0-1")
    #expect(like.ending == .exited(0))
    #expect(like.outputText == "")
    #expect(like.errorText.hasPrefix("moments: cannot connect: "))
    let words = " 'like m0-1 --user 0' is queued, and will be sent by the next run with --user 0 at this endpoint.\n"
    #expect(like.errorText.hasSuffix(words))
    let list = try await account.run("outbox", "list")
    list.expectSuccess()
    let id = try #require(list.outputText.split(separator: " ").dropFirst().first)
    #expect(list.outputText == "waiting  \(id)  like m0-1 --user 0, just now\n")
    #expect(try await account.run("outbox", "list", "--user", "1").outputText == "nothing is queued\n")
    let offline = try await account.run("timeline", "--json")
    #expect(offline.exitCode == 0)
    #expect(try account.isLiked("m0-1", in: offline) == true)
    let cached = try await account.run("timeline", "--verbose", "--policy", "cacheOnly")
    #expect(cached.errorText == "timeline: just now, with queued likes\n")
  }

  @Test func `likes without a server survive kill -9, and are delivered once when it is back`() async throws {
    let account = try Account.offline()
    try await account.online { _ in try await account.run("timeline").expectSuccess() }
    let queued = try await account.run("like", "m0-1")
    #expect(queued.exitCode == 0)
    for number in 2..<6 {
      let like = try account.start("like", "m0-\(number)", "--verbose", "--retries", "10")
      try await like.waitForErrors(containing: "attempt 1: cannot connect")
      like.send(SIGKILL)
      #expect(try await like.waitForEnd().ending == .signalled(SIGKILL))
    }
    let list = try await account.run("outbox", "list").outputText.split(separator: "\n")
    #expect(list.map { $0.split(separator: " ").dropFirst(3).first } == (1..<6).map { "m0-\($0)" })
    try await account.online { server in
      let timeline = try await account.run("timeline", "--json")
      #expect(timeline.exitCode == 0)
      #expect(timeline.errorText.split(separator: "\n").count == 5)
      #expect(timeline.errorText.hasPrefix("moments: 'like m0-1 --user 0' was queued just now, and is sent now.\n"))
      #expect(try await server.stats().operations["updateMomentLike"] == 5)
      for number in 1..<6 { #expect(try account.isLiked("m0-\(number)", in: timeline) == true) }
      let next = try await account.run("timeline", "--json")
      next.expectSuccess()
      #expect(next.output == timeline.output)
      #expect(try await server.stats().operations["updateMomentLike"] == 5)
      #expect(try await account.run("outbox", "list").outputText == "nothing is queued\n")
    }
  }

  @Test func `flush sends what is queued, or fails with the reason`() async throws {
    let account = try Account.offline()
    for _ in 0..<2 { _ = try await account.run("like", "m1-1", "--user", "3", "--retries", "0") }
    let failed = try await account.run("outbox", "flush", "--user", "3")
    #expect(failed.ending == .exited(69))
    #expect(failed.outputText == "0 sent, 0 refused, 2 waiting\n")
    #expect(failed.errorText.hasPrefix("moments: cannot connect: "))
    try await account.online { server in
      #expect(try await account.run("outbox", "flush").outputText == "0 sent, 0 refused, 0 waiting\n")
      let flushed = try await account.run("outbox", "flush", "--user", "3", "--json")
      #expect(flushed.exitCode == 0)
      #expect(flushed.outputText == #"{"refused":0,"sent":2,"waiting":0}"# + "\n")
      #expect(try await server.stats().operations["updateMomentLike"] == 2)
    }
  }

  @Test func `a flush's responses are in the cache when it ends`() async throws {
    let account = try Account.offline()
    for round in 0..<3 {
      let id = "m0-\(round)"
      _ = try await account.run("like", id, "--retries", "0")
      let flushed = try await account.online { _ in try await account.run("outbox", "flush") }
      #expect(flushed.outputText == "1 sent, 0 refused, 0 waiting\n")
      let cached = try await account.run("timeline", "--policy", "cacheOnly", "--json")
      #expect(try account.isLiked(id, in: cached) == true)
      #expect(try await account.run("cache", "clear").exitCode == 0)
    }
  }

  @Test func `runs at the same time send each like once`() async throws {
    let account = try Account.offline()
    for number in 0..<5 { _ = try await account.run("like", "m0-\(number)", "--retries", "0") }
    try await account.online { server in
      let runs = try (0..<4).map { _ in try account.start("timeline", "--header", "X-Latency-Ms: 30") }
      for run in runs { #expect(try await run.waitForEnd().exitCode == 0) }
      #expect(try await server.stats().operations["updateMomentLike"] == 5)
    }
  }

  @Test func `a queued like that the server refuses is reported and set aside, and not sent again`() async throws {
    let account = try Account.offline()
    for id in ["m9-9", "m0-1"] { _ = try await account.run("like", id, "--retries", "0") }
    try await account.online { server in
      let timeline = try await account.run("timeline")
      #expect(timeline.exitCode == 0)
      let lines = timeline.errorText.split(separator: "\n")
      #expect(lines.count == 2)
      #expect(lines[0].hasPrefix("moments: GraphQL: "))
      #expect(lines[0].hasSuffix("is set aside."))
      #expect(lines[0].contains("'like m9-9 --user 0' was queued"))
      try await account.run("timeline").expectSuccess()
      #expect(try await server.stats().operations["updateMomentLike"] == 2)
      let list = try await account.run("outbox", "list")
      #expect(list.outputText.hasPrefix("refused  "))
      #expect(list.outputText.contains("  like m9-9 --user 0, just now: "))
      #expect(list.outputText.contains("'m9-9'"))
      #expect(list.outputText.filter { $0 == "\n" }.count == 1)
      let json = try await account.run("outbox", "list", "--json")
      #expect(json.outputText.hasPrefix(#"{"entries":[{"addedAt":"#))
      #expect(json.outputText.contains(#""refusal":"#))
      let id = try #require(list.outputText.split(separator: " ").dropFirst().first)
      try await account.run("outbox", "discard", String(id)).expectSuccess()
      #expect(try await account.run("outbox", "list").outputText == "nothing is queued\n")
      try await account.run("outbox", "discard", String(id)).expectFailure(64, "wrong usage", saying: "\(id)")
    }
  }

  @Test func `a queued like that can no longer be read is listed, reported by flush, and can be discarded`()
    async throws
  {
    let account = try Account.offline()
    _ = try await account.run("like", "m0-1", "--retries", "0")
    let folder = URL(fileURLWithPath: try #require(account.options.last)).appending(path: "outbox")
    let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
    let entry = try #require(files.compactMap { $0 as? URL }.first { $0.pathExtension == "e1" })
    try Data("damaged".utf8).write(to: entry)
    let id = entry.deletingPathExtension().lastPathComponent.dropFirst(21)
    let line = "unreadable  \(id), just now\n"
    #expect(try await account.run("outbox", "list").outputText == line)
    let flush = try await account.run("outbox", "flush")
    #expect(flush.exitCode == 65)
    #expect(flush.errorText == "moments: not sent: \(line)")
    #expect(flush.outputText == "0 sent, 0 refused, 0 waiting\n")
    try await account.run("outbox", "discard", String(id)).expectSuccess()
    #expect(try await account.run("outbox", "list").outputText == "nothing is queued\n")
  }

  @Test func `a like that waits can be discarded by the id that the list shows`() async throws {
    let account = try Account.offline()
    _ = try await account.run("like", "m0-1", "--retries", "0")
    let list = try await account.run("outbox", "list").outputText
    let id = try #require(list.split(separator: " ").dropFirst().first)
    try await account.run("outbox", "discard", String(id)).expectSuccess()
    #expect(try await account.run("outbox", "list").outputText == "nothing is queued\n")
  }

  @Test func `a like that the server takes or refuses at once leaves nothing behind`() async throws {
    let account = try Account.offline()
    try await account.online { _ in
      try await account.run("like", "m0-1").expectSuccess()
      try await account.run("like", "m9-9").expectFailure(65, "GraphQL", saying: "'m9-9'")
      #expect(try await account.run("outbox", "list").outputText == "nothing is queued\n")
      let cached = try await account.run("timeline", "--policy", "cacheOnly", "--json")
      #expect(try account.isLiked("m0-1", in: cached) == true)
    }
  }

  @Test func `a like without a valid token is queued until there is one, and the exit code says so`() async throws {
    let account = try Account.offline()
    _ = try await account.run("like", "m0-1", "--retries", "0")
    try await account.online(["--auth", "http"]) { server in
      let environment = ["MOMENTS_TOKEN": "expired-token"]
      let like = try await account.run("like", "m0-2", environment: environment)
      #expect(like.exitCode == 77)
      #expect(like.outputText == "")
      #expect(like.errorText.hasPrefix("moments: GraphQL: "))
      #expect(like.errorText.contains("'like m0-2 --user 0' is queued"))
      let refused = environment.merging(["MOMENTS_REFRESH_TOKEN": "no-such-token"]) { $1 }
      #expect(try await account.run("outbox", "flush", environment: refused).exitCode == 77)
      #expect(try await account.run("outbox", "list").outputText.contains("  like m0-1 --user 0, just now\n"))
      let timeline = try await account.run("timeline", environment: ["MOMENTS_TOKEN": "valid-token"])
      #expect(timeline.errorText.split(separator: "\n").filter { $0.hasSuffix("is sent now.") }.count == 2)
    }
  }

  @Test func `a like that may have arrived is sent again under its own key`() async throws {
    let server = try ScriptedServer { number in
      number == 0 ? [.readRequest, .close] : .answering { _ in RawResponse(503) }
    }
    let account = try Account.offline()
    let options = ["--endpoint", server.url.absoluteString] + account.options.suffix(2)
    let like = try await Moments.run(["like", "m0-1", "--retries", "1"] + options)
    #expect(like.exitCode == 0)
    #expect(like.errorText.contains("is queued"))
    #expect(try await Moments.run(["outbox", "flush", "--retries", "0"] + options).exitCode == 69)
    let sent = server.requests.map { $0["Idempotency-Key"] }
    #expect(sent.count == 3)
    #expect(Set(sent).count == 1)
    #expect(sent[0] != nil)
  }

  @Test func `eight runs during a short outage ask the server once, and leave the like queued`() async throws {
    let server = try ScriptedServer { _ in .answering { _ in RawResponse(503) } }
    let account = try Account.offline()
    let options = ["--endpoint", server.url.absoluteString, "--retries", "0"] + account.options.suffix(2)
    #expect(try await Moments.run(["like", "m0-1"] + options).exitCode == 0)
    for _ in 0..<8 { #expect(try await Moments.run(["timeline"] + options).exitCode == 69) }
    let bodies = server.requests.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(bodies.count { $0.contains("updateMomentLike") } < 4, "The runs took some seconds, and pauses are longer")
    #expect(try await Moments.run(["outbox", "list"] + options).outputText.hasPrefix("waiting  "))
  }

  @Test func `likes are never set aside while the network drops everything`() async throws {
    let (port, account) = (try UnansweredPort(), try Account.offline())
    let endpoint = "http://127.0.0.1:\(port.port)/graphql"
    let options = ["--endpoint", endpoint, "--timeout", "0.2"] + account.options.suffix(2)
    #expect(try await Moments.run(["like", "m0-1"] + options).exitCode == 0)
    for _ in 0..<8 {
      let flush = try await Moments.run(["outbox", "flush"] + options)
      #expect(flush.exitCode == 69)
      #expect(flush.outputText == "0 sent, 0 refused, 1 waiting\n")
      #expect(flush.errorText.contains("Timed out after 0.2 seconds"))
    }
    #expect(try await Moments.run(["outbox", "list"] + options).outputText.hasPrefix("waiting  "))
  }

  @Test func `a command that only reads the folder makes nothing in it, also for a user without data`() async throws {
    let account = try Account.offline()
    _ = try await account.run("like", "m0-1", "--retries", "0")
    let folder = try #require(account.options.last)
    let before = try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
    for (arguments, output) in [
      (["outbox", "list"], "nothing is queued\n"), (["outbox", "flush"], "0 sent, 0 refused, 0 waiting\n"),
      (["cache", "stats"], "0 timelines, 0 bytes\n"), (["cache", "clear"], ""),
      (["cache", "clear", "--json"], #"{"cleared":{"bytes":0,"timelines":0}}"# + "\n"),
    ] {
      let result = try await Moments.run(arguments + account.options + ["--user", "typo"])
      #expect(result.exitCode == 0)
      #expect(result.outputText == output)
    }
    #expect(try FileManager.default.subpathsOfDirectory(atPath: folder).sorted() == before)
  }

  @Test func `--timeout ends a timeline whose server does not even respond to the likes queued before it`() async throws
  {
    let server = try ScriptedServer(.neverAnswering)
    let account = try Account.offline()
    let options = ["--endpoint", server.url.absoluteString, "--timeout", "1", "--retries", "0"]
    let folder = account.options.suffix(2)
    #expect(try await Moments.run(["like", "m0-1"] + options + folder).exitCode == 0)
    // As if the pause after that attempt were over.
    let path = try #require(folder.last)
    let pause = try #require(try FileManager.default.subpathsOfDirectory(atPath: path).first { $0.hasSuffix("/pause") })
    try FileManager.default.removeItem(atPath: "\(path)/\(pause)")
    try await Moments.run(["timeline"] + options + folder).expectFailure(69, "timed out")
    let bodies = server.requests.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(bodies.count == 2)
    #expect(bodies.allSatisfy { $0.contains("updateMomentLike") })
  }

  @Test(.timeLimit(.minutes(1)))
  func `a run that hangs while it sends delays no other for longer than --timeout`() async throws {
    let server = try ScriptedServer(.neverAnswering)
    let account = try Account.offline()
    let folder = account.options.suffix(2)
    let hanging = try Moments.start(["like", "m0-1", "--endpoint", server.url.absoluteString] + folder)
    try await server.waitForRequests()
    hanging.send(SIGSTOP)
    let options = ["--endpoint", server.url.absoluteString, "--timeout", "0.3", "--retries", "0"] + folder
    try await Moments.run(["timeline"] + options).expectFailure(69, "timed out")
    let like = try await Moments.run(["like", "m0-2"] + options)
    #expect(like.exitCode == 0)
    #expect(like.errorText.contains("Another process"))
    #expect(like.errorText.contains("is queued"))
    let flush = try await Moments.run(["outbox", "flush"] + options)
    #expect(flush.exitCode == 69)
    #expect(flush.outputText == "0 sent, 0 refused, 2 waiting\n")
    let bodies = server.requests.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(bodies.filter { $0.contains("updateMomentLike") }.count == 1)
    hanging.send(SIGKILL)
    _ = try await hanging.waitForEnd()
  }

  @Test func `Ctrl-C leaves a like queued that may have been sent`() async throws {
    let server = try ScriptedServer(.neverAnswering)
    let account = try Account.offline()
    let options = ["--endpoint", server.url.absoluteString] + account.options.suffix(2)
    let like = try Moments.start(["like", "m0-1"] + options)
    try await server.waitForRequests()
    like.send(SIGINT)
    let result = try await like.waitForEnd()
    #expect(result.exitCode == 130)
    #expect(result.errorText.contains("is queued"))
    #expect(try await Moments.run(["outbox", "list"] + options).outputText.contains("  like m0-1 "))
  }
}
