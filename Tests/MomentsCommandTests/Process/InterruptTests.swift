import Foundation
import Glibc
import TestSupport
import Testing

@Suite("the command and Ctrl-C")
struct InterruptTests {
  @Test(arguments: [[], ["like", "m0-1"]])
  func `an interrupt ends the command with 130, and cancels the request`(arguments: [String]) async throws {
    let server = try ScriptedServer(.neverAnswering)
    let child = try Moments.start(arguments + ["--endpoint", server.url.absoluteString])
    try await server.waitForRequests()
    child.send(SIGINT)
    let result = try await child.waitForEnd(within: .seconds(10))
    result.expectFailure(130, "cancelled")
    try await server.waitForClientToClose()
  }

  @Test func `an interrupt ends the command with 130 however early it comes`() async throws {
    let server = try ScriptedServer(.neverAnswering)
    for _ in 0..<TestScale.count(20, long: 200) {
      let child = try Moments.start(["--endpoint", server.url.absoluteString])
      try await eventually { child.leavesToSystem(SIGINT) != true }
      child.send(SIGINT)
      try await child.waitForEnd(within: .seconds(20)).expectFailure(130, "cancelled")
    }
  }

  @Test func `an interrupt ends the command with 130 in the middle of a body, too`() async throws {
    let server = try ScriptedServer(.neverFinishing)
    let child = try Moments.start(["--verbose", "--endpoint", server.url.absoluteString])
    try await child.waitForErrors(containing: "Content-Length: 1000")
    child.send(SIGINT)
    #expect(try await child.waitForEnd(within: .seconds(10)).ending == .exited(130))
  }

  @Test(arguments: [SIGINT, SIGHUP])
  func `a job that a shell started in the background ignores the interrupt, and with nohup SIGHUP, as it should`(
    signal: Int32
  ) async throws {
    let latch = Latch()
    let answer = RawResponse(body: TimelineJSON.plain)
    let server = try ScriptedServer([.readRequest, .wait(for: latch), .send(answer), .close])
    let path = try RepositoryLayout.executable("moments").path
    let script = #"trap '' HUP; "$0" --endpoint "$1" & echo $!; wait $!; echo "status $?""#
    let child = try ChildProcess(
      URL(fileURLWithPath: "/bin/sh"), ["-c", script, path, server.url.absoluteString])
    try await server.waitForRequests()
    let number = try #require(try await Int32(child.waitForOutput(containing: "\n").prefix { $0 != "\n" }))
    kill(number, signal)
    latch.open()
    #expect(try await child.waitForEnd().outputText.hasSuffix("status 0\n"))
  }

  @Test func `an interrupt ends a write that is not read`() async throws {
    let title = String(repeating: "x", count: 1 << 20)
    let body = TimelineJSON.plain.replacing("早安 🌅", with: title)
    let server = try ScriptedServer(.answering { _ in RawResponse(body: body) })
    let pipe = FileManager.default.temporaryDirectory.appendingPathComponent("moments-\(UUID())").path
    // The shell holds both ends of the pipe, takes one byte of the result, and no more.
    let script = """
      mkfifo "$2" && exec 4<>"$2" && rm "$2"
      env --default-signal=INT "$0" --json --endpoint "$1" >&4 &
      head -c 1 <&4 >&2
      kill -INT $!; wait $!; echo "status $?"
      """
    let path = try RepositoryLayout.executable("moments").path
    let result = try await ChildProcess.run(
      URL(fileURLWithPath: "/bin/sh"), ["-c", script, path, server.url.absoluteString, pipe])
    #expect(result.outputText == "status 130\n")
    #expect(result.errorText.hasPrefix("{moments: cancelled: "))
  }

  @Test func `an interrupt ends a write to standard error that is not read`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: TimelineJSON.plain) })
    let pipe = FileManager.default.temporaryDirectory.appendingPathComponent("moments-\(UUID())").path
    // The pipe is full, the shell holds both ends, and nobody takes anything.
    let script = """
      mkfifo "$2" && exec 4<>"$2" && rm "$2"
      head -c 65536 /dev/zero >&4
      env --default-signal=INT "$0" --json --endpoint "$1" >&4 2>&4 &
      echo $!; wait $!; echo "status $?"
      """
    let path = try RepositoryLayout.executable("moments").path
    let child = try ChildProcess(
      URL(fileURLWithPath: "/bin/sh"), ["-c", script, path, server.url.absoluteString, pipe])
    try await server.waitForRequests()
    let number = try #require(try await Int32(child.waitForOutput(containing: "\n").prefix { $0 != "\n" }))
    // The first may find the request being sent, and is then no more than the request's end.
    let end = ContinuousClock.now + .seconds(10)
    while .now < end, kill(number, SIGINT) == 0, !child.state.value.outputText.contains("status") { await Task.yield() }
    #expect(try await child.waitForEnd(within: .seconds(10)).outputText.hasSuffix("status 130\n"))
  }
}
