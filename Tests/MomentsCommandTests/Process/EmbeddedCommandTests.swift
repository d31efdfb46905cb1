import Foundation
import Models
import TestSupport
import Testing

@testable import moments

@Suite("the command with the embedded backend")
struct EmbeddedCommandTests {
  @Test(arguments: [[], ["timeline"], ["--user", "0"]])
  func `a command without an endpoint shows the embedded timeline`(arguments: [String]) async throws {
    let result = try await Moments.run(arguments)
    result.expectSuccess()
    #expect(result.outputText.hasPrefix("Lin Wei "))
    for text in ["5 moments", "早安", "12 minutes ago", "3 days ago", "♥ 3 likes", "m0-1", "link ·", "photos ·"] {
      #expect(result.outputText.contains(text))
    }
    #expect(!result.outputText.contains("\u{1B}"))
    #expect(result.outputText.split(separator: "\n").allSatisfy { $0.columns <= 80 })
  }

  @Test func `--verbose calls sample data by their name`() async throws {
    #expect(try await Moments.run(["--verbose"]).errorText == "timeline: from the sample data, just now\n")
  }

  @Test func `an empty variable counts as no endpoint`() async throws {
    let result = try await Moments.run([], environment: ["MOMENTS_ENDPOINT": "", "MOMENTS_TOKEN": ""])
    result.expectSuccess()
    #expect(result.outputText.hasPrefix("Lin Wei "))
  }

  @Test func `like and unlike print the moment as it now is`() async throws {
    let liked = try await Moments.run(["like", "m0-1"])
    liked.expectSuccess()
    #expect(liked.outputText.hasPrefix("Zoë Ångström "))
    #expect(liked.outputText.contains("\n♥ 1 like "))
    let unliked = try await Moments.run(["unlike", "m0-0"])
    unliked.expectSuccess()
    #expect(unliked.outputText.contains("\n♡ 2 likes "))
  }

  @Test func `json is one object on one line, with likes or without`() async throws {
    for isShown in [true, false] {
      let result = try await Moments.run(["--json"] + (isShown ? [] : ["--no-likes"]))
      result.expectSuccess()
      #expect(result.outputText.filter { $0 == "\n" }.count == 1)
      #expect(result.outputText.hasSuffix("}\n"))
      let details = try JSONDecoder().decode(MomentsDetails.self, from: Data(result.output))
      #expect(details.moments.allSatisfy { ($0.likes != nil) == isShown && ($0.isLiked != nil) == isShown })
    }
    let liked = try await Moments.run(["like", "m1-1", "--user=3", "--json"])
    let details = try JSONDecoder().decode(MomentsDetails.self, from: Data(liked.output))
    #expect(details.userDetails.id == "1")
    #expect(details.moments.count == 2)
  }

  @Test func `an unknown user or moment ends with 65`() async throws {
    try await Moments.run(["--user", "9"]).expectFailure(65, "not found", saying: "'9'")
    try await Moments.run(["like", "m9-9"]).expectFailure(65, "not found", saying: "'m9-9'")
  }

  @Test(arguments: [30, 60, 100] as [UInt16])
  func `a terminal gets colours, and lines that fit it`(columns: UInt16) async throws {
    let result = try await Moments.run([], output: .terminal(columns: columns))
    result.expectSuccess()
    #expect(result.outputText.contains("\u{1B}[1mLin Wei\u{1B}[0m"))
    let lines = result.outputText.replacing(/\u{1B}\[[0-9]+m/, with: "").split(separator: "\r\n")
    #expect(lines.map(\.columns).max() == Int(columns))
  }

  @Test(arguments: [["NO_COLOR": "1"], ["TERM": "dumb"]])
  func `a terminal gets no colours where they are not wanted`(environment: [String: String]) async throws {
    let result = try await Moments.run([], environment: environment, output: .terminal(columns: 60))
    result.expectSuccess()
    #expect(!result.outputText.contains("\u{1B}"))
  }

  @Test func `COLUMNS is the width where there is no terminal`() async throws {
    let result = try await Moments.run([], environment: ["COLUMNS": "40"])
    #expect(result.outputText.split(separator: "\n").map(\.columns).max() == 40)
  }
}

@Suite("the command's output")
struct CommandOutputTests {
  private func shell(_ script: String) async throws -> ChildProcess.State {
    let path = try RepositoryLayout.executable("moments").path
    return try await ChildProcess.run(URL(fileURLWithPath: "/bin/sh"), ["-c", script], environment: ["MOMENTS": path])
  }

  @Test func `a reader that closes the pipe is no error`() async throws {
    // The command starts once the reader is gone; its status goes another way than its output.
    let result = try await shell(
      #"""
      gone=$(mktemp -u) && mkfifo "$gone"
      { read -r _ <"$gone"; "$MOMENTS"; echo "status $?" >&2; } | { exec <&-; echo >"$gone"; }
      rm "$gone"
      """#)
    #expect(result.errorText == "status 0\n")
  }

  @Test func `a full device is an error`() async throws {
    try await shell(#""$MOMENTS" > /dev/full"#).expectFailure(74, "cannot write", saying: "No space left on device")
    try await shell(#""$MOMENTS" --help > /dev/full"#).expectFailure(74, "cannot write")
  }

  @Test func `closed standard streams do no harm`() async throws {
    try await shell(#""$MOMENTS" >&-"#).expectFailure(74, "cannot write")
    let silent = try await shell(#""$MOMENTS" --bogus 2>&-"#)
    #expect(silent.exitCode == 64)
    let all = try await shell(#""$MOMENTS" --version <&- 2>&-"#)
    #expect(all.exitCode == 0)
    #expect(all.outputText.hasPrefix("moments "))
  }

  @Test func `results are never written to a socket that took the number of a closed stream`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: TimelineJSON.plain) })
    let result = try await shell(#""$MOMENTS" --json --endpoint http://127.0.0.1:\#(server.port)/ <&- >&-"#)
    #expect(result.exitCode == 74)
    #expect(server.requests.count == 1)
    let received = server.log.value.connections.map(\.bytesReceived).reduce(0, +)
    let request = try #require(server.requests.first)
    #expect(received == request.head.utf8.count + 4 + request.body.count)
  }
}
