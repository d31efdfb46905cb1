import Foundation
import Testing

/// What `measure` and `measure-costs` end with if something fails, with other programs in the place of a fleet's processes.
@Suite(.timeLimit(.minutes(2)))
struct MeasureTests {
  @Test(arguments: [
    ("measure", "exit 3", "a process has ended with 3, while 'ready' was expected"),
    ("measure", "echo 0 ready; read line; exit 4", "a process has ended with 4 before 'get popular'"),
    (
      "measure-costs", "echo 0 ready; read line; echo 0 failed k0 lost; cat >/dev/null",
      "a process says 'failed k0 lost', while 'got k' was expected"
    ),
    (
      "measure-costs", "echo 0 ready; read line; echo 0 got k0 - 0; cat >/dev/null",
      "a process says 'got k0 - 0', while 'got k' was expected"
    ),
  ]) func `what fails is said, and no figure is printed`(script: String, commands: String, problem: String) throws {
    let program = FileManager.default.temporaryDirectory.appending(path: "fleet-\(UUID().uuidString)")
    try "#!/bin/sh\n\(commands)\n".write(to: program, atomically: false, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.path)
    defer { try? FileManager.default.removeItem(at: program) }
    let (process, output, errors) = (Process(), Pipe(), Pipe())
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    process.executableURL = folder.appending(path: "../../\(script)").standardizedFileURL
    process.arguments = [program.path]
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let message = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 1)
    #expect(message == "\(script): \(problem)\n")
    #expect(output.fileHandleForReading.readDataToEndOfFile().isEmpty)
  }
}
