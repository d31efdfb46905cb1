import Foundation
import Glibc
import StrictJSON
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3))) struct WatchCommandTests {
  private func arguments(_ server: BFFServer, _ more: [String]) -> [String] {
    ["watch"] + more + ["--endpoint", server.graphqlURL.absoluteString]
  }

  private func like(_ momentID: String, by userID: String, _ server: BFFServer) async throws {
    let mutation = """
      {"query": "mutation { updateMomentLike(momentID: \\"\(momentID)\\", userID: \\"\(userID)\\", isLiked: true) \
      { userDetails { id } } }"}
      """
    _ = try await RawHTTP.post("/graphql", body: [UInt8](mutation.utf8), port: server.port)
  }

  private func lines(_ text: String) -> [JSONValue] {
    text.split(separator: "\n").compactMap { try? JSONValue(json: String($0)) }
  }

  /// The number of likes of a moment in each timeline.
  private func likeCounts(_ lines: [JSONValue], of moment: Int) -> [Int] {
    lines.compactMap { line in
      guard case .array(let moments) = line["moments"], case .array(let likes) = moments[moment]["likes"] else {
        return nil
      }
      return likes.count
    }
  }

  @Test(arguments: ["ws", "sse", "multipart"])
  func `it prints the timeline at once, and again as others like its moments`(live: String) async throws {
    let server = try await BFFServer.start()
    let child = try Moments.start(arguments(server, ["--user", "1", "--live", live, "--json", "--count", "3"]))
    try await child.waitForOutput(containing: "\n")
    try await eventually { try await server.stats().activeSubscribers != 0 }
    try await like("m1-1", by: "4", server)
    try await child.state.wait { state in lines(state.outputText).count == 2 }
    try await like("m1-1", by: "5", server)
    let result = try await child.waitForEnd()
    result.expectSuccess()
    let counts = likeCounts(lines(result.outputText), of: 1)
    #expect(counts.count == 3)
    #expect(counts == counts.sorted())
    #expect(Set(counts).count == 3)
  }

  @Test func `it connects again after the server was away, says so, and shows what was missed`() async throws {
    let server = try await BFFServer.start()
    let relay = try CuttingRelay(to: server.port)
    let child = try Moments.start([
      "watch", "--user", "1", "--json", "--count", "2", "--endpoint", "http://127.0.0.1:\(relay.port)/graphql",
    ])
    try await child.waitForOutput(containing: "\n")
    try await eventually { try await server.stats().activeSubscribers != 0 }
    relay.cutAll()
    try await like("m1-1", by: "4", server)
    let result = try await child.waitForEnd()
    #expect(result.ending == .exited(0))
    #expect(result.errorText.contains("Trying again in"))
    #expect(likeCounts(lines(result.outputText), of: 1).count == 2)
  }

  @Test func `it ends with 0 after the time of --for`() async throws {
    let server = try await BFFServer.shared()
    let result = try await Moments.run(arguments(server, ["--for", "1"]))
    result.expectSuccess()
    #expect(result.outputText.hasPrefix("Lin Wei "))
  }

  @Test
  func
    `elsewhere than in a terminal it prints the timeline, and then what has changed; it works without a server, too`()
    async throws
  {
    let result = try await Moments.run(["watch", "--count", "2"])
    result.expectSuccess()
    let parts = result.outputText.split(separator: "m0-4")
    #expect(result.outputText.hasPrefix("Lin Wei "))
    #expect(parts.count == 2)
    #expect(parts.last?.contains("m0-0") == true)
    #expect(parts.last?.contains("m0-1") == false)
  }

  @Test(arguments: [12, 40])
  func `in a terminal it redraws in place: the screen shows the latest timeline, and nothing else`(rows: UInt16)
    async throws
  {
    let server = try await BFFServer.start()
    let (columns, lineFeed) = (60, "\r\n")
    // What was there before, and what the terminal shows then.
    var screen = Screen(columns: columns, rows: Int(rows))
    screen.write(String(repeating: "old text of a shell" + lineFeed, count: 50))
    let child = try Moments.start(
      arguments(server, ["--user", "1", "--count", "3"]), output: .terminal(columns: UInt16(columns), rows: rows))
    try await eventually { try await server.stats().activeSubscribers != 0 }
    for (count, liker) in ["4", "5"].enumerated() {
      try await child.state.wait { $0.outputText.components(separatedBy: "\u{1B}[J").count > count + 1 }
      try await like("m1-1", by: liker, server)
    }
    let result = try await child.waitForEnd()
    #expect(result.ending == .exited(0))
    let fresh = try await Moments.run(
      ["timeline", "--user", "1", "--endpoint", server.graphqlURL.absoluteString],
      output: .terminal(columns: UInt16(columns), rows: 1000))
    var expected = Screen(columns: columns, rows: 1000)
    expected.write(fresh.outputText)
    let before = screen.scrolled
    screen.write(result.outputText)
    // The last line says what does not fit.
    let isCut = expected.lines.count > Int(rows) - 1
    let lines = expected.lines.prefix(Int(rows) - (isCut ? 2 : 1))
    let rest = isCut ? ["… \(expected.lines.count - lines.count) more lines"] : []
    #expect(screen.lines == Array(lines) + rest)
    #expect(screen.scrolled == before)
    #expect(screen.unknown.isEmpty)
  }

  @Test func `in a terminal it redraws when the window has changed its size, which is no other timeline`() async throws
  {
    let server = try await BFFServer.start()
    let child = try Moments.start(
      arguments(server, ["--user", "1", "--count", "2"]), output: .terminal(columns: 60, rows: 20))
    try await child.waitForOutput(containing: "\u{1B}[J")
    try await eventually { try await server.stats().activeSubscribers != 0 }
    child.send(SIGWINCH)
    try await child.state.wait { $0.outputText.components(separatedBy: "\u{1B}[J").count == 3 }
    try await like("m1-1", by: "4", server)
    let result = try await child.waitForEnd()
    #expect(result.ending == .exited(0))
    #expect(result.outputText.components(separatedBy: "\u{1B}[J").count == 4)
  }

  @Test func `without a server, too, there is a live connection for as long as it runs`() async throws {
    let result = try await Moments.run(["watch", "--timeout", "0.5", "--for", "3"])
    result.expectSuccess()
  }

  @Test func `it ends when nobody reads its output any more`() async throws {
    let command = try "'\(RepositoryLayout.executable("moments").path)' watch --json | head -n 1"
    let result = try await ChildProcess.run(URL(filePath: "/bin/sh"), ["-c", command])
    #expect(result.ending == .exited(0))
    #expect(result.errorText == "")
    #expect(lines(result.outputText).count == 1)
  }

  @Test func `it says when the server has ended the subscription, and ends with 0`() async throws {
    let server = try ScriptedServer(
      .answering { request in
        let isSubscription = request["Accept"]?.contains("text/event-stream") == true
        return isSubscription
          ? RawResponse(contentType: "text/event-stream", body: "event: complete\ndata:\n\n")
          : RawResponse(body: TimelineJSON.plain)
      })
    let result = try await Moments.run(["watch", "--live", "sse", "--json", "--endpoint", server.url.absoluteString])
    #expect(result.ending == .exited(0))
    #expect(result.errorText == "moments: the server has ended the subscription\n")
    #expect(lines(result.outputText).count == 1)
  }

  @Test(arguments: ["ws", "sse", "multipart"], [401, 503])
  func `S3: it prints no token that a server repeats`(live: String, status: Int) async throws {
    let token = "CANARY-6f1d2c3b4a596877"
    let server = try ScriptedServer(
      .answering { request in
        RawResponse(status, contentType: "text/plain", body: "no good: \(request["Authorization"] ?? "")")
      })
    let result = try await Moments.run(
      ["watch", "--verbose", "--live", live, "--for", "1", "--endpoint", server.url.absoluteString],
      environment: ["MOMENTS_TOKEN": token])
    #expect(!result.errorText.contains("CANARY"))
    #expect(!result.outputText.contains("CANARY"))
    #expect(!result.errorText.isEmpty)
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP], ["ws", "sse", "multipart"])
  func `it ends with the code of the signal, and the server learns that the subscription is over`(
    number: Int32, live: String
  ) async throws {
    let server = try await BFFServer.start()
    let child = try Moments.start(arguments(server, ["--json", "--live", live]))
    try await child.waitForOutput(containing: "\n")
    try await eventually { try await server.stats().activeSubscribers != 0 }
    child.send(number)
    let result = try await child.waitForEnd(within: .seconds(20))
    #expect(result.ending == .exited(128 + number))
    let causes = [SIGINT: "interrupted by Ctrl-C", SIGTERM: "terminated by SIGTERM", SIGHUP: "terminated by SIGHUP"]
    #expect(result.errorText.contains(try #require(causes[number])))
    try await eventually { try await server.stats().activeSubscribers == 0 }
    if live == "ws" { try await server.expectOneGoodbye() }
  }

  @Test func `the server learns that the subscription is over at the end of --count, too`() async throws {
    let server = try await BFFServer.start()
    let child = try Moments.start(arguments(server, ["--user", "1", "--json", "--count", "2"]))
    try await eventually { try await server.stats().activeSubscribers != 0 }
    try await like("m1-1", by: "4", server)
    try await child.waitForEnd().expectSuccess()
    try await server.expectOneGoodbye()
  }

  @Test(arguments: [(SIGTERM, 143, "SIGTERM"), (SIGHUP, 129, "SIGHUP")])
  func `SIGTERM and SIGHUP end any run of the command, and cancel its request`(
    number: Int32, code: Int32, name: String
  ) async throws {
    let server = try ScriptedServer(.neverAnswering)
    let child = try Moments.start(["--endpoint", server.url.absoluteString])
    try await server.waitForRequests()
    child.send(number)
    try await child.waitForEnd(within: .seconds(10)).expectFailure(code, "cancelled", saying: name)
    try await server.waitForClientToClose()
  }

  @Test func `it ends with 69 when there was no live connection for too long`() async throws {
    let port = try RefusingPort()
    let result = try await Moments.run([
      "watch", "--timeout", "1", "--endpoint", "http://127.0.0.1:\(port.port)/graphql",
    ])
    #expect(result.ending == .exited(69))
    #expect(result.errorText.contains("There was no live connection for 1.0 s"))
  }

  @Test(arguments: ["ws", "sse"])
  func `it ends with 77 when its token is refused`(live: String) async throws {
    let server = try await BFFServer.start(arguments: ["--auth", "http"])
    let result = try await Moments.run(arguments(server, ["--live", live]))
    #expect(result.ending == .exited(77))
  }

  @Test func `it ends with 65 when the responses cannot be used`() async throws {
    let server = try await BFFServer.shared()
    let result = try await Moments.run(arguments(server, ["--user", "99"]))
    #expect(result.ending == .exited(65))
    #expect(result.outputText == "")
  }

  @Test func `it continues with a new token when the old one has expired`() async throws {
    let server = try await BFFServer.start(arguments: ["--auth", "http"])
    let result = try await Moments.run(
      arguments(server, ["--user", "1", "--for", "1.5", "--json"]),
      environment: ["MOMENTS_TOKEN": "expired-token", "MOMENTS_REFRESH_TOKEN": "valid-refresh-token"])
    #expect(result.ending == .exited(0))
    #expect(lines(result.outputText).count == 1)
    #expect(try await server.stats().operations["refreshToken"] == 1)
    #expect(try await server.stats().operations["momentLiked"] == 1)
  }

  @Test(arguments: [
    ["timeline", "--count", "1"], ["--live", "ws"], ["like", "m", "--for", "1"], ["watch", "--live", "tcp"],
    ["watch", "--count", "0"], ["watch", "--for", "x"], ["watch", "m"],
    ["watch", "--live", "ws", "--transport", "urlsession"],
  ])
  func `its options go with it alone, and have to be valid`(arguments: [String]) async throws {
    try await Moments.run(arguments).expectFailure(64, "wrong usage")
  }
}

extension BFFServer {
  /// Checks that a client has completed its one operation, and closed its one WebSocket with 1000.
  fileprivate func expectOneGoodbye() async throws {
    try await eventually { try await !self.stats().closes.isEmpty }
    let stats = try await stats()
    #expect(stats.completes == 1)
    #expect(stats.closes == ["1000": 1])
  }
}

/// The screen of a terminal that knows what the command needs (ECMA-48): the cursor's home, erasing a line and the
/// screen, and colours, which it forgets.
private struct Screen {
  private var rows: [[Character]]
  private let columns: Int
  private var cursor = (row: 0, column: 0)
  /// How many lines left the screen at its top.
  private(set) var scrolled = 0
  /// The controls that it does not know.
  private(set) var unknown: [String] = []

  init(columns: Int, rows: Int) {
    self.columns = columns
    self.rows = Array(repeating: [], count: rows)
  }

  /// What it shows, up to the last line that is not empty, without spaces at the ends of lines.
  var lines: [String] {
    let lines = rows.map { row in String(String(row.reversed().drop { $0 == " " }).reversed()) }
    return Array(lines[..<(lines.lastIndex { !$0.isEmpty }.map { $0 + 1 } ?? 0)])
  }

  mutating func write(_ text: String) {
    var rest = text[...]
    while let character = rest.popFirst() {
      switch character {
      case "\u{1B}":
        let control = rest.prefix { !$0.isLetter } + rest.drop { !$0.isLetter }.prefix(1)
        rest = rest.dropFirst(control.count)
        perform(String(control))
      case "\r\n": feed()
      default:
        if cursor.column == columns { feed() }
        rows[cursor.row] += Array(repeating: " ", count: max(cursor.column - rows[cursor.row].count, 0))
        if cursor.column < rows[cursor.row].count {
          rows[cursor.row][cursor.column] = character
        } else {
          rows[cursor.row].append(character)
        }
        cursor.column += 1
      }
    }
  }

  private mutating func feed() {
    cursor = (cursor.row + 1, 0)
    guard cursor.row == rows.count else { return }
    rows.removeFirst()
    rows.append([])
    cursor.row -= 1
    scrolled += 1
  }

  /// Behind the last column, the cursor still counts as being on it.
  private mutating func eraseLine() {
    rows[cursor.row].removeLast(max(rows[cursor.row].count - min(cursor.column, columns - 1), 0))
  }

  private mutating func perform(_ control: String) {
    switch control {
    case "[H": cursor = (0, 0)
    case "[K": eraseLine()
    case "[J":
      eraseLine()
      for row in (cursor.row + 1)..<rows.count { rows[row] = [] }
    case _ where control.hasSuffix("m"): break
    default: unknown.append(control)
    }
  }
}
