import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct ProcessesTests {
  @Test func `a program that is paused ends with its object`() throws {
    var program: Program? = try Program(URL(filePath: "/bin/sleep"), ["600"])
    let id = try #require(program?.id)
    program?.pause()
    #expect(Program.isThere(id))
    program = nil
    #expect(!Program.isThere(id))
  }

  @Test func `a program ends when what has started it is gone`() throws {
    let (process, input, output) = (Process(), Pipe(), Pipe())
    process.executableURL = Program.shell
    process.arguments = Program.tied(URL(filePath: "/bin/sleep"), ["600"])
    (process.standardInput, process.standardOutput, process.standardError) = (input, output, output)
    try process.run()
    #expect(Program.isThere(process.processIdentifier))
    // As the system does at the end of a process.
    try input.fileHandleForWriting.close()
    #expect(output.fileHandleForReading.readDataToEndOfFile().isEmpty)
    process.waitUntilExit()
    #expect(process.terminationReason == .uncaughtSignal)
    #expect(process.terminationStatus == SIGKILL)
  }

  @Test(.enabled(if: Chromium.path != nil)) func `no process of a browser is left when what has started it is gone`()
    async throws
  {
    let profile = FileManager.default.temporaryDirectory.appending(path: "chromium-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: profile) }
    let (process, input, output) = (Process(), Pipe(), Pipe())
    process.executableURL = Program.shell
    process.arguments = Program.tied(URL(filePath: Chromium.path ?? ""), Chromium.arguments(profile))
    (process.standardInput, process.standardOutput, process.standardError) = (input, output, output)
    try process.run()
    var text = ""
    while !text.contains("DevTools listening on ") {
      text += String(decoding: try #require(try output.fileHandleForReading.read(upToCount: 1)), as: UTF8.self)
    }
    try input.fileHandleForWriting.close()
    // All of them have it.
    _ = try output.fileHandleForReading.readToEnd()
    process.waitUntilExit()
    #expect(process.terminationStatus == SIGKILL)
  }

  @Test(.enabled(if: Chromium.path != nil)) func `a browser leaves no files behind`() async throws {
    var browser: Chromium? = try await Chromium()
    let profile = try #require(browser?.profile.path)
    #expect(FileManager.default.fileExists(atPath: profile))
    browser = nil
    #expect(!FileManager.default.fileExists(atPath: profile))
  }
}
