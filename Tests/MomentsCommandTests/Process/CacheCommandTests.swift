import Foundation
import TestSupport
import Testing

@Suite("the command's cache")
struct CacheCommandTests {
  @Test func `networkFirst without a network shows the cached timeline, says so, and ends with 0`() async throws {
    let account = try Account.offline()
    let online = try await account.online { _ in try await account.run("timeline") }
    online.expectSuccess()
    for arguments in [["timeline"], ["timeline", "--policy", "networkFirst", "--retries", "0"]] {
      let offline = try await Moments.run(arguments + account.options)
      #expect(offline.ending == .exited(0))
      #expect(offline.output == online.output)
      let lines = offline.errorText.split(separator: "\n")
      #expect(lines.count == 1)
      #expect(offline.errorText.hasPrefix("moments: cannot connect: "))
      #expect(offline.errorText.contains("This is the timeline as it was kept just now."))
    }
    try await account.run("--policy", "networkOnly").expectFailure(69, "cannot connect")
  }

  @Test func `a timeline without a network and without a cached value ends as without a cache`() async throws {
    let account = try Account.offline()
    try await account.run("timeline").expectFailure(69, "cannot connect")
    try await account.run("timeline", "--policy", "cacheOnly").expectFailure(65, "not cached")
    try await Moments.run(["--policy", "cacheOnly"]).expectFailure(65, "not cached")
  }

  @Test func `each policy reads from where it says, and --verbose reports the source`() async throws {
    let account = try Account.offline()
    try await account.online { server in
      for (policy, requests, origin) in [
        ("noCache", 1, "from the server, just now"), ("cacheFirst", 1, "from the server, just now"),
        ("cacheFirst", 0, "from the cache, just now"), ("cacheOnly", 0, "from the cache, just now"),
        ("networkFirst", 1, "from the server, just now"), ("networkOnly", 1, "from the server, just now"),
        ("cacheAndNetwork", 1, "from the server, just now"),
      ] {
        try await server.reset()
        let result = try await account.run("--verbose", "--policy", policy)
        #expect(result.exitCode == 0)
        #expect(result.errorText.contains("\ntimeline: \(origin)\n") || result.errorText == "timeline: \(origin)\n")
        #expect(try await server.stats().operations["getMomentsDetailsByUserID"] ?? 0 == requests, "\(policy)")
      }
    }
  }

  @Test func `users, endpoints, and timelines with likes or without never share an entry`() async throws {
    let account = try Account.offline()
    try await account.online { _ in
      try await account.run("--user", "1").expectSuccess()
      let elsewhere = account.options.map { $0.replacing("127.0.0.1", with: "localhost") }
      for arguments in [
        account.options, account.options + ["--user", "1", "--no-likes"], elsewhere + ["--user", "1"],
      ] {
        try await Moments.run(arguments + ["--policy", "cacheOnly"]).expectFailure(65, "not cached")
      }
      try await account.run("--user", "1", "--policy", "cacheOnly").expectSuccess()
    }
  }

  @Test func `the cache's size is reported, and it is cleared, for one account alone`() async throws {
    let account = try Account.offline()
    try await account.online { _ in
      for user in ["0", "1"] { try await account.run("--user", user).expectSuccess() }
      try await account.run("--no-likes").expectSuccess()
    }
    let statistics = try await account.run("cache", "stats")
    statistics.expectSuccess()
    #expect(statistics.outputText.wholeMatch(of: /2 timelines, \d{5} bytes\n/) != nil)
    let json = try await account.run("cache", "stats", "--json", "--user=1")
    #expect(json.outputText.wholeMatch(of: /\{"bytes":\d{4},"timelines":1\}\n/) != nil)
    let clearing = try await account.run("cache", "clear", "--json", "--user=1")
    #expect(clearing.outputText == #"{"cleared":\#(json.outputText.dropLast())}"# + "\n")
    #expect(try await account.run("cache", "stats").outputText == statistics.outputText)
    let cleared = try await account.run("cache", "clear")
    cleared.expectSuccess()
    #expect(cleared.outputText == "")
    #expect(try await account.run("cache", "stats").outputText == "0 timelines, 0 bytes\n")
  }

  @Test func `a failure that is none of the network shows the cached timeline, and keeps its exit code`() async throws {
    let partial = #"{"data":{"getMomentsDetailsByUserID":\#(TimelineJSON.details)},"errors":[{"message":"m"}]}"#
    let answers = [
      RawResponse(body: TimelineJSON.plain), RawResponse(401), RawResponse(403), RawResponse(body: "<html>"),
      RawResponse(body: partial), RawResponse(503),
    ]
    let server = try ScriptedServer { number in [.readRequest, .send(answers[number]), .close] }
    let account = try Account.offline()
    let options = ["--retries", "0", "--endpoint", server.url.absoluteString] + account.options.suffix(2)
    let online = try await Moments.run(options)
    online.expectSuccess()
    for (code, kind) in [
      (77, "HTTP status"), (77, "HTTP status"), (65, "not decodable"), (65, "GraphQL"), (0, "HTTP status"),
    ] {
      let result = try await Moments.run(options)
      #expect(result.ending == .exited(Int32(code)))
      #expect(result.output == online.output)
      #expect(result.errorText.hasPrefix("moments: \(kind): "))
      #expect(result.errorText.filter { $0 == "\n" }.count == 1)
      #expect(result.errorText.hasSuffix("This is the timeline as it was kept just now.\n"))
    }
  }

  @Test func `a refused timeline and a partial one are not cached`() async throws {
    let account = try Account.offline()
    try await account.online { _ in
      try await account.run("--user", "404").expectFailure(65, "GraphQL")
      try await account.run("--user", "404", "--policy", "cacheOnly").expectFailure(65, "not cached")
    }
  }

  @Test func `a folder that cannot be used ends with 74`() async throws {
    let folder = "/dev/null/cache"
    try await Moments.run(["--cache-dir", folder])
      .expectFailure(74, "cannot write", saying: "'\(folder)' cannot be used")
  }

  @Test(arguments: [["cache", "stats"], ["cache", "clear"], ["outbox", "list"], ["outbox", "flush"]])
  func `a command that only reads a folder does not make it`(arguments: [String]) async throws {
    let account = try Account.offline()
    let folder = try #require(account.options.last)
    try await account.run(arguments[0], arguments[1]).expectFailure(64, "wrong usage", saying: folder)
    #expect(!FileManager.default.fileExists(atPath: folder))
  }

  @Test func `S3: no token stands in the folder`() async throws {
    let account = try Account.offline()
    try await account.online { _ in
      let environment = ["MOMENTS_TOKEN": "canary-token-1234", "MOMENTS_REFRESH_TOKEN": "canary-refresh-5678"]
      try await account.run("timeline", environment: environment).expectSuccess()
    }
    _ = try await account.run("like", "m0-1", environment: ["MOMENTS_TOKEN": "canary-token-1234"])
    let kept = try account.everythingKept()
    #expect(kept.contains("m0-1"))
    #expect(!kept.contains("canary"))
  }

  @Test func `the folder's lock is waited for no longer than --timeout says`() async throws {
    let account = try Account.offline()
    try await account.online { _ in
      try await account.run("timeline").expectSuccess()
      let lock = try account.lockCache()
      let start = ContinuousClock.now
      let result = try await account.run("timeline", "--timeout", "0.5")
      result.expectFailure(74, "cannot write", saying: "does not give the lock back")
      #expect(ContinuousClock.now - start < .seconds(8))
      close(lock)
      try await account.run("timeline").expectSuccess()
    }
  }

  @Test func `the embedded backend has a cache, too`() async throws {
    let account = try Account.offline()
    let folder = account.options.suffix(2)
    try await Moments.run(["like", "m0-1"] + folder).expectSuccess()
    try await Moments.run(["--policy", "cacheOnly"] + folder).expectSuccess()
    try await Moments.run(["outbox", "flush"] + folder).expectSuccess()
  }
}
