import Foundation
import Logging
import Testing

@testable import TimelineServer

@Suite(.timeLimit(.minutes(2))) struct SettingsTests {
  private static let url = ["BFF_URL": "http://127.0.0.1:4000/graphql"]
  private let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()

  @Test func `settings have usual values, and can be set`() throws {
    let usual = try Settings(Self.url)
    #expect(usual.host == "127.0.0.1")
    #expect(usual.port == 8080)
    #expect(usual.staleTime == .seconds(5))
    #expect(usual.checkInterval == .seconds(30))
    #expect(usual.logLevel == .info)
    let own = try Settings(Self.url.merging(["HOST": "::1", "PORT": "0", "STALE_TIME": "0.5"]) { $1 })
    #expect(own.host == "::1")
    #expect(own.port == 0)
    #expect(own.staleTime == .milliseconds(500))
  }

  @Test(arguments: [
    ("BFF_URL", "foo"), ("BFF_URL", ""), ("BFF_URL", "ftp://127.0.0.1/"), ("HOST", ""), ("PORT", "-1"),
    ("PORT", "70000"), ("PORT", "abc"), ("STALE_TIME", "inf"), ("STALE_TIME", "nan"), ("STALE_TIME", "-1"),
    ("STALE_TIME", "1e300"), ("CHECK_INTERVAL", "soon"), ("LOG_LEVEL", "loud"),
  ]) func `a wrong setting is named in one line`(name: String, value: String) {
    let error = #expect(throws: SettingsError.self) { try Settings(Self.url.merging([name: value]) { $1 }) }
    #expect(error?.description.hasPrefix(name) == true)
    #expect(error?.description.contains("\n") == false)
  }

  @Test(arguments: [
    [], ["server", "1"], ["server", "1", "foo"], ["backend", "x"], ["backend", "70000"], ["other", "1"],
  ])
  func `the program to compare with says how it is used, and ends with 64`(arguments: [String]) async throws {
    let program = try Program(folder.appending(path: "ByHand"), arguments)
    #expect(try await program.line { _ in true }.hasPrefix("usage: ByHand "))
    #expect(try await program.status == 64)
  }

  @Test func `a program that cannot start says why in its last line, and ends with 64`() async throws {
    let wrong = try Server.program(["BFF_URL": "foo"])
    #expect(try await wrong.line { $0.hasPrefix("TimelineServer: BFF_URL ") }.contains("such as http://"))
    #expect(try await wrong.status == 64)
    let server = try await Server(BFF())
    let address = "127.0.0.1:\(server.url.port ?? 0)"
    let busy = try Server.program(Self.url.merging(["PORT": "\(server.url.port ?? 0)"]) { $1 })
    let line = try await busy.line { $0.hasPrefix("TimelineServer: ") }
    #expect(line.contains("\(address): Address already in use"))
    #expect(line.hasSuffix("Set HOST or PORT to another one."))
    #expect(try await busy.status == 64)
    let other = try Program(folder.appending(path: "ByHand"), ["backend", "\(server.url.port ?? 0)"])
    #expect(try await other.line { _ in true }.contains("Address already in use"))
    #expect(try await other.status == 64)
    let elsewhere = try Server.program(Self.url.merging(["HOST": "no.such.host.invalid"]) { $1 })
    #expect(try await elsewhere.line { $0.hasPrefix("TimelineServer: ") }.contains("no.such.host.invalid:8080: "))
    #expect(try await elsewhere.status == 64)
    withExtendedLifetime(server) {}
  }
}
