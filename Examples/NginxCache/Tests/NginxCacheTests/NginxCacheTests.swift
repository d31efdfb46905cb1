import Foundation
import Testing

/// A fleet of processes behind nginx with this example's configuration.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct NginxCacheTests {
  @Test("nginx is installed")
  func isInstalled() {
    #expect(Nginx.executable != nil, "The other tests need nginx: apt-get install nginx-light, or brew install nginx.")
  }

  @Test("F3: 8 processes with 64 askers each send one request to the origin", .enabled(if: Nginx.executable != nil))
  func oneRequest() async throws {
    let origin = try await Origin()
    let nginx = try await Nginx(before: origin)
    let fleet = try await Fleet(8, askers: 64, account: "a", at: nginx)

    #expect(try await fleet.ask() == 512)
    #expect(try await origin.requests == 1)

    // From the cache, within its two seconds.
    #expect(try await fleet.ask() == 512)
    #expect(try await origin.requests == 1)
  }

  @Test("F4: two accounts that send equal queries share no response", .enabled(if: Nginx.executable != nil))
  func twoAccounts() async throws {
    let origin = try await Origin()
    let nginx = try await Nginx(before: origin)
    let fleets = [
      try await Fleet(1, askers: 8, account: "a", at: nginx), try await Fleet(1, askers: 8, account: "b", at: nginx),
    ]
    for fleet in fleets { #expect(try await fleet.ask() == 8) }
    #expect(try await origin.requests == 2)
  }

  @Test("F2: a stale response is served at once, while one request refreshes it", .enabled(if: Nginx.executable != nil))
  func staleWhileRevalidate() async throws {
    let origin = try await Origin()
    let nginx = try await Nginx(before: origin)
    let fleet = try await Fleet(2, askers: 32, account: "a", at: nginx)
    #expect(try await fleet.ask() == 64)
    // nginx keeps time itself, and a response's freshness is counted in whole seconds.
    try await Task.sleep(for: .seconds(3))
    #expect(try await fleet.ask() == 64)
    // The refresh reaches the origin after its readers have their response.
    while try await origin.requests == 1 { await Task.yield() }
    #expect(try await fleet.ask() == 64)
    #expect(try await origin.requests == 2)
  }
}

/// Processes that ask at the same time.
struct Fleet {
  private let processes: [Program]

  init(_ count: Int, askers: Int, account: String, at nginx: Nginx) async throws {
    let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    processes = try (0..<count).map { _ in
      try Program(folder.appending(path: "Fleet"), [nginx.url, "\(askers)", account])
    }
    for process in processes { #expect(try await process.line() == "ready") }
  }

  /// Lets all askers ask at once; returns how many have their response.
  func ask() async throws -> Int {
    for process in processes { try process.write("ask") }
    var responses = 0
    for process in processes {
      let line = try await process.line().split(separator: " ")
      try #require(line.count == 3 && line[1] == "1", "\(line)")
      responses += Int(line[0]) ?? 0
    }
    return responses
  }
}
