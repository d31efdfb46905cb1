import Foundation
import SystemBase
import TestSupport
import Testing

@Suite struct FileDescriptorTests {
  private let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

  @Test func `what is written to a file is read from it, and the file is for this user alone`() throws {
    defer { try? FileManager.default.removeItem(at: file) }
    let bytes = [UInt8]((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
    let created = try FileDescriptor.open(file.path, O_WRONLY | O_CREAT | O_EXCL)
    try created.writeAll(bytes)
    try created.close()
    #expect(try FileDescriptor.contents(of: file.path) == bytes)
    #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
    let some = try FileDescriptor.contents(of: file.path, upTo: 100_000)
    #expect(some.count > 100_000)
    #expect(bytes.starts(with: some))
  }

  @Test(arguments: [("/nowhere/a", ENOENT), ("/dev/null\0", ENOENT), ("/dev/null/a", ENOTDIR), ("/", EISDIR)])
  func `what cannot be read is an error with the system's code`(path: String, code: Int32) {
    #expect(throws: SystemError(code: code)) { try FileDescriptor.contents(of: path) }
  }

  @Test func `a pipe that does not wait takes as much as its reader reads`() async throws {
    let (reader, writer) = try Descriptor.pipe()
    #expect(fcntl(writer.number, F_SETFL, O_NONBLOCK) == 0)
    let bytes = [UInt8](repeating: 7, count: 1 << 20)
    let read = Monitor(0)
    try startThread(named: "reader") {
      let count = (try? FileDescriptor(number: reader.number).readAll().count) ?? 0
      read.update { $0 = count }
    }
    try FileDescriptor(number: writer.number).writeAll(bytes)
    writer.close()
    try await read.wait(for: "all bytes") { $0 == 1 << 20 }
  }
}

@Suite struct TrimmingTests {
  @Test(arguments: [
    ("", ""), (" \t ", ""), ("a", "a"), (" a b\t", "a b"), ("\u{A0}a", "\u{A0}a"), ("a\r\n", "a\r\n"), ("\t赞 ", "赞"),
    (" \u{301}a ", "\u{301}a"),
  ])
  func `spaces and tabs around a text are removed, and nothing else`(text: String, trimmed: String) {
    #expect(Array(text.trimmed.utf8) == Array(trimmed.utf8))
  }
}
