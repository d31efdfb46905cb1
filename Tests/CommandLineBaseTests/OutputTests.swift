import CommandLineBase
import Foundation
import Testing

@Suite struct OutputTests {
  @Test func `all of a long text arrives through a slow and non-blocking pipe`() async throws {
    let pipe = Pipe()
    let descriptor = pipe.fileHandleForWriting.fileDescriptor
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    let text = String(repeating: "早安 moments\n", count: 100_000)
    let reading = Task.detached { pipe.fileHandleForReading.readDataToEndOfFile() }
    try Output(descriptor: descriptor).write(text)
    try pipe.fileHandleForWriting.close()
    #expect(String(decoding: await reading.value, as: UTF8.self) == text)
  }

  @Test func `a full device and a closed file are errors`() throws {
    let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
    #expect(throws: OutputError(code: ENOSPC)) { try Output(descriptor: full.fileDescriptor).write("text") }
    #expect(throws: OutputError(code: EBADF)) { try Output(descriptor: -1).write("text") }
  }
}
