import Foundation
import Testing

/// A fleet of processes behind nginx with this example's configuration.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct NginxCacheTests {
  @Test func `nginx is installed`() {
    #expect(Nginx.executable != nil, "The other tests need nginx: apt-get install nginx-light, or brew install nginx.")
  }

  @Test(.enabled(if: Nginx.executable != nil))
  func `F3: 8 processes with 64 askers each send one request to the origin`() async throws {
    let origin = try await Origin()
    let nginx = try await Nginx(before: origin)
    let fleet = try await Fleet(8, askers: 64, account: "a", at: nginx.url)

    #expect(try await fleet.ask().count == 512)
    #expect(try await origin.executions == 1)

    // From the cache, within its two seconds.
    let again = try await fleet.ask()
    #expect(again.count == 512 && again.marks == ["HIT"])
    #expect(try await origin.executions == 1)
  }

  @Test(.enabled(if: Nginx.executable != nil))
  func `a hash that the server does not know costs some requests more`() async throws {
    let origin = try await Origin(knowsHash: false)
    let nginx = try await Nginx(before: origin)
    let fleet = try await Fleet(8, askers: 64, account: "a", at: nginx.url)
    #expect(try await fleet.ask().count == 512)
    // At least the hash, the document, and the hash again.
    #expect(try await 3...10 ~= origin.requests)
  }

  @Test(.enabled(if: Nginx.executable != nil))
  func `F3: when the process whose request the others wait for is killed, they get its response`() async throws {
    let origin = try await Origin()
    let nginx = try await Nginx(before: origin)
    let first = try await Fleet(1, askers: 64, account: "a", at: nginx.url)
    let others = try await Fleet(3, askers: 64, account: "a", at: nginx.url)
    let before = try await origin.requests
    try first.begin()
    while try await origin.requests == before { await Task.yield() }
    try others.begin()
    first.kill()
    #expect(try await others.end().count == 192)
    #expect(try await origin.executions == 1)
  }

  @Test(.enabled(if: Nginx.executable != nil))
  func `F2: while the server is away, the stored response is served, marked as stale, and to its own account alone`()
    async throws
  {
    let origin = try await Origin()
    let nginx = try await Nginx(before: origin)
    let fleet = try await Fleet(
      2, askers: 32, account: "a", freshness: "max-age=1, stale-if-error=60", at: nginx.url)
    #expect(try await fleet.ask().count == 64)
    origin.stop()
    try await Task.sleep(for: .seconds(2))
    for _ in 1...2 {
      let stale = try await fleet.ask()
      #expect(stale.count == 64 && stale.marks == ["STALE"])
    }
    let other = try await Fleet(1, askers: 1, account: "b", at: nginx.url)
    let error = await #expect(throws: Fleet.Failure.self) { try await other.ask() }
    #expect(error?.line.contains("502") == true)
  }

  @Test(.enabled(if: Nginx.executable != nil))
  func `F4: two accounts that send equal queries share no response`() async throws {
    let origin = try await Origin()
    let nginx = try await Nginx(before: origin)
    let fleets = [
      try await Fleet(1, askers: 8, account: "a", at: nginx.url),
      try await Fleet(1, askers: 8, account: "b", at: nginx.url),
    ]
    for fleet in fleets { #expect(try await fleet.ask().count == 8) }
    #expect(try await origin.executions == 2)
  }

  @Test(.enabled(if: Nginx.executable != nil))
  func `F4: two API keys share no response, and what has a cookie is not cached`() async throws {
    let origin = try await Origin()
    let nginx = try await Nginx(before: origin)
    for (key, mark) in [("a", "MISS"), ("b", "MISS"), ("a", "HIT"), ("b", "HIT")] {
      #expect(try await nginx.mark(of: "X-API-Key", key) == mark)
    }
    #expect(try await origin.executions == 2)
    for cookie in ["0", "a=b", "0"] { #expect(try await nginx.mark(of: "Cookie", cookie) == "BYPASS") }
    #expect(try await origin.executions == 5)
    #expect(try await nginx.mark() == "MISS")
  }

  @Test(.enabled(if: Nginx.executable != nil && geteuid() == 0))
  func `the README's command runs as another user, too`() async throws {
    let origin = try await Origin()
    let nginx = try await Nginx(before: origin, as: "daemon")
    #expect(try nginx.access == 0)
    let fleet = try await Fleet(1, askers: 8, account: "a", at: nginx.url)
    for _ in 1...2 { #expect(try await fleet.ask().count == 8) }
    #expect(try await origin.executions == 1)
  }

  @Test(arguments: [
    ("PORT=0", 64, "start: PORT is '0'; set it to a number from 1 to 65535"),
    ("PORT=65536", 64, "start: PORT is '65536'; set it to a number from 1 to 65535"),
    ("PORT=x", 64, "start: PORT is 'x'; set it to a number from 1 to 65535"),
    ("ORIGIN=a b", 64, "start: ORIGIN is 'a b'; set it to the GraphQL server, such as 127.0.0.1:4000"),
    ("PATH=/nowhere", 69, "start: nginx was not found; on Debian: apt-get install nginx-light gettext-base"),
  ]) func `what is wrong with a setting of the start is one line`(
    setting: String, status: Int32, line: String
  ) async throws {
    let start = URL(filePath: #filePath).appending(path: "../../../start").standardizedFileURL
    let program = try Program(URL(filePath: "/usr/bin/env"), [setting, "/bin/sh", start.path])
    #expect(try await program.line() == line)
    try await program.end(status)
  }

  @Test(.enabled(if: Nginx.executable != nil))
  func `a folder that cannot be made is named, and the exit code is 64`() async throws {
    let start = URL(filePath: #filePath).appending(path: "../../../start").standardizedFileURL
    let path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin:/opt/homebrew/bin"
    let program = try Program(URL(filePath: "/usr/bin/env"), [path, "CACHE=/dev/null/x", "/bin/sh", start.path])
    let line = "start: CACHE is '/dev/null/x'; set it to a folder that can be made"
    #expect(try await program.line { $0.hasPrefix("start: ") } == line)
    try await program.end(64)
  }

  @Test(arguments: [
    (["foo", "1", "a"], "Fleet: invalid request: 'foo' is not an http or https URL with a host."),
    (["http://127.0.0.1:99999/", "1", "a"], "Fleet: invalid request: The port of"),
    (["http://127.0.0.1:1/", "1", "two\nlines"], "Fleet: invalid request: The value of the header 'Authorization'"),
    (["http://127.0.0.1:1/", "-1", "a"], "usage: Fleet URL ASKERS ACCOUNT [FRESHNESS]"),
    ([], "usage: Fleet URL ASKERS ACCOUNT [FRESHNESS]"),
  ]) func `wrong arguments of a process of the fleet are one line`(arguments: [String], line: String) async throws {
    let program = try Program(Fleet.executable, arguments)
    #expect(try await program.line().hasPrefix(line))
    try await program.end(64)
  }

  @Test(.enabled(if: Nginx.executable != nil))
  func `nobody but nginx may read the responses`() async throws {
    let nginx = try await Nginx(before: Origin())
    #expect(try nginx.access == 0)
  }

  @Test(.enabled(if: Nginx.executable != nil))
  func `F2: a stale response is served at once, while one request refreshes it`() async throws {
    let origin = try await Origin()
    let nginx = try await Nginx(before: origin)
    let fleet = try await Fleet(2, askers: 32, account: "a", at: nginx.url)
    #expect(try await fleet.ask().count == 64)
    // nginx keeps time itself, and a response's freshness is counted in whole seconds.
    try await Task.sleep(for: .seconds(3))
    let stale = try await fleet.ask()
    #expect(stale.count == 64 && stale.marks.contains("STALE") && stale.marks.isDisjoint(with: ["MISS", "EXPIRED"]))
    // The refresh reaches the origin after its readers have their response.
    while try await origin.executions == 1 { await Task.yield() }
    #expect(try await fleet.ask().count == 64)
    #expect(try await origin.executions == 2)
  }
}

/// Processes that ask at the same time.
struct Fleet {
  /// The program, beside that of the tests.
  static let executable = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "Fleet")

  private let processes: [Program]

  /// The responses to all askers, and what nginx says of them.
  struct Responses {
    var count = 0
    var marks: Set<Substring> = []
  }

  /// What a process wrote that has not got all its responses, or different ones.
  struct Failure: Error {
    let line: String
  }

  init(_ count: Int, askers: Int, account: String, freshness: String? = nil, at url: String) async throws {
    let arguments = [url, "\(askers)", account] + (freshness.map { [$0] } ?? [])
    processes = try (0..<count).map { _ in try Program(Self.executable, arguments) }
    for process in processes { #expect(try await process.line() == "ready") }
  }

  /// Lets all askers ask at once, and waits for their responses.
  func ask() async throws -> Responses {
    try begin()
    return try await end()
  }

  /// Lets all askers ask at once.
  func begin() throws {
    for process in processes { try process.write("ask") }
  }

  /// Waits for the responses.
  func end() async throws -> Responses {
    var responses = Responses()
    for process in processes {
      let text = try await process.line()
      let line = text.split(separator: " ")
      guard line.count == 4, line[1] == "1" else { throw Failure(line: text) }
      responses.count += Int(line[0]) ?? 0
      responses.marks.formUnion(line[3].split(separator: ","))
    }
    return responses
  }

  func kill() {
    for process in processes { process.kill() }
  }
}
