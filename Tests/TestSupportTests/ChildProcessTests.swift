import Foundation
import Glibc
import TestSupport
import Testing

struct ChildProcessTests {
  private let shell = URL(fileURLWithPath: "/bin/sh")

  @Test func `output, errors and exit code are collected`() async throws {
    let result = try await ChildProcess.run(shell, ["-c", "printf out; printf err >&2; exit 69"])
    #expect(result.outputText == "out")
    #expect(result.errorText == "err")
    #expect(result.ending == .exited(69))
    #expect(result.exitCode == 69)
  }

  @Test func `input larger than a pipe is written while output is read`() async throws {
    let bytes = [UInt8](repeating: 0x61, count: 1_000_000)
    let result = try await ChildProcess.run(URL(fileURLWithPath: "/bin/cat"), input: .bytes(bytes))
    #expect(result.output == bytes)
  }

  @Test func `a program that reads none of its input does no harm`() async throws {
    let result = try await ChildProcess.run(
      shell, ["-c", "exit 3"], input: .bytes([UInt8](repeating: 0, count: 1_000_000)))
    #expect(result.exitCode == 3)
  }

  @Test func `a signal is sent after an output, and is the ending`() async throws {
    let child = try ChildProcess(shell, ["-c", "echo ready >&2; exec sleep 600"])
    try await child.waitForErrors(containing: "ready")
    child.send(SIGINT)
    #expect(try await child.waitForEnd().ending == .signalled(SIGINT))
    child.send(SIGINT)
  }

  @Test func `open input ends when it is closed`() async throws {
    let child = try ChildProcess(URL(fileURLWithPath: "/bin/cat"), input: .open)
    #expect(child.state.value.ending == nil)
    child.closeInput()
    #expect(try await child.waitForEnd().exitCode == 0)
  }

  @Test func `a program that runs too long is killed, and the error has its output`() async throws {
    let child = try ChildProcess(shell, ["-c", "echo begun; exec sleep 600"])
    try await child.waitForOutput(containing: "begun")
    let error = await #expect(throws: TimedOut.self) { try await child.waitForEnd(within: .milliseconds(1)) }
    #expect(error?.description.contains("begun") == true)
    #expect(try await child.waitForEnd().ending == .signalled(SIGKILL))
  }

  @Test func `a wait for text throws at once when the program ends without it`() async throws {
    let child = try ChildProcess(shell, ["-c", "echo other"])
    let error = await #expect(throws: EndedEarly.self) { try await child.waitForOutput(containing: "wanted") }
    #expect(error?.description.contains("other") == true)
  }

  @Test func `the environment is the test's, changed, without variables of the command`() async throws {
    setenv("MOMENTS_TEST_SUPPORT", "1", 1)
    let result = try await ChildProcess.run(
      URL(fileURLWithPath: "/usr/bin/env"), environment: ["MOMENTS_ENDPOINT": "here", "HOME": nil])
    let lines = result.outputText.split(separator: "\n")
    #expect(lines.contains("MOMENTS_ENDPOINT=here"))
    #expect(lines.contains { $0.hasPrefix("PATH=") })
    #expect(!lines.contains { $0.hasPrefix("HOME=") || $0.hasPrefix("MOMENTS_TEST_SUPPORT=") })
  }

  @Test func `the output can be a terminal of a given width`() async throws {
    let script = "test -t 1 && stty size <&1; test -t 2 || echo no terminal >&2"
    let result = try await ChildProcess.run(shell, ["-c", script], output: .terminal(columns: 72))
    #expect(result.outputText == "40 72\r\n")
    #expect(result.errorText == "no terminal\n")
  }

  @Test func `a program's use of memory is measured while it runs, and its peak afterwards`() async throws {
    let child = try ChildProcess(shell, ["-c", "echo ready; read line"], input: .open)
    try await child.waitForOutput(containing: "ready")
    let usage = try #require(child.usage)
    #expect(usage.descriptors == 3)
    #expect(usage.threads == 1)
    #expect(usage.memory > 0)
    child.closeInput()
    let result = try await child.waitForEnd()
    #expect(try #require(result.peakMemory) > 100_000)
    #expect(child.usage == nil)
  }

  @Test func `no descriptor of the tests is inherited`() async throws {
    let leaked = open("/dev/null", O_RDONLY)  // without O_CLOEXEC
    defer { close(leaked) }
    let result = try await ChildProcess.run(shell, ["-c", "ls /proc/$$/fd; :"])
    #expect(result.outputText.split(separator: "\n").compactMap { Int($0) }.filter { $0 > 2 && $0 != 255 } == [])
  }

  @Test func `a missing executable is an error`() {
    #expect(throws: (any Error).self) { try ChildProcess(URL(fileURLWithPath: "/nonexistent")) }
  }

  @Test func `executables of the package are found beside the tests`() async throws {
    #expect(FileManager.default.isExecutableFile(atPath: try RepositoryLayout.executable("moments").path))
    #expect(throws: MissingExecutable.self) { try RepositoryLayout.executable("no-such-product") }
  }

  /// Behind one that nobody has waited for, an exit test does not find its own process.
  @Test func `a program is waited for as soon as it ends, though another one has its output`() async throws {
    let child = try ChildProcess(shell, ["-c", "sleep 20 & exit 0"])
    try await eventually { child.leavesToSystem(SIGTERM) == nil }
    #expect(child.state.value.ending == nil)
  }
}
