import Foundation
import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

@testable import Stores

/// Files in an outbox's folder that it cannot read, or that are not its own.
@Suite struct OutboxDamageTests {
  private let folder = TemporaryFolder()
  private let server = OutboxServer()

  init() { server.set(.isAway) }

  private var entryFiles: [String] { folder.files.filter { $0.hasSuffix(".e1") } }

  @Test func `an unreadable entry is listed and reported, and delays no other until it is discarded`()
    async throws
  {
    let older = try OutboxFolder<[Int]>(folder.url, partition: "account", fileSystem: SystemFileSystem())
    let entry = try older.append([1], id: "id", now: .now())
    let outbox = try folder.outbox(server)
    #expect(await outbox.outcome("a") == "queued: cannot connect")
    #expect(try outbox.contents() == ["a"])
    let unreadable = UnreadableOutboxEntry(entry.name)
    #expect(try outbox.unreadableEntries() == [unreadable])
    server.set(.answers)
    let report = await outbox.flush()
    #expect(report.sent.map(\.mutation) == ["a"])
    #expect(report.unreadable == [unreadable])
    #expect(report.error == nil)
    #expect(await outbox.flush().unreadable == [unreadable])
    #expect(try older.read(entry.name)?.mutation == [1])
    #expect(try outbox.discard(id: "id"))
    #expect(try outbox.unreadableEntries() == [])
    #expect(try !outbox.discard(id: "id"))
    #expect(await outbox.flush().unreadable == [])
  }

  @Test func `an entry that is damaged while it waits is no longer shown`() async throws {
    let outbox = try folder.outbox(server)
    let changes = Recorder(outbox.changes)
    #expect(await outbox.outcome("a") == "queued: cannot connect")
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder.url.path).filter { $0.hasSuffix(".e1") }
    try Data("damaged".utf8).write(to: folder.url.appending(path: #require(files.first)))
    #expect(await outbox.flush().unreadable.count == 1)
    // It was added, and withdrawn.
    #expect(changes.take().count == 2)
  }

  @Test func `a file that is larger than any that was put in is listed as what cannot be read`() async throws {
    let files = try OutboxFolder<String>(folder.url, partition: "", fileSystem: SystemFileSystem(), entryLimit: 200)
    let entry = try files.append("a", id: "id", now: .now())
    let file = try #require(entryFiles.first)
    try Data(count: 70_000).write(to: URL(fileURLWithPath: folder.path(file)))
    guard case .unreadable(UnreadableOutboxEntry(entry.name))? = try files.content(entry.name) else {
      return #expect(Bool(false), "It is as if it were gone.")
    }
  }

  @Test func `D4: an entry with a flipped bit is not sent, and delays no other`() async throws {
    let outbox = try folder.outbox(server)
    _ = await outbox.outcome("a")
    let path = folder.path(try #require(entryFiles.first))
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    _ = await outbox.outcome("b")
    for bit in 0..<(bytes.count * 8) {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << (bit % 8)
      try damaged.write(to: URL(fileURLWithPath: path))
      #expect(try outbox.contents() == ["b"])
      #expect(try outbox.unreadableEntries().count <= 1)
    }
    #expect(try outbox.unreadableEntries().count == 1)
    server.set(.answers)
    #expect(try await folder.outbox(server).flush().sent.map(\.mutation) == ["b"])
  }

  @Test(arguments: [Int.max, .min, -1, 8])
  func `a number of attempts that there cannot be traps nothing`(
    attempts: Int
  ) async throws {
    let scheduler = TestScheduler()
    let outbox = try folder.outbox(server, clock: .scheduler(scheduler))
    _ = await outbox.outcome("a")
    var entry = try #require(try outbox.entries().first)
    entry.attempts = attempts
    if attempts >= 0 { entry.attempted = .init(microseconds: .max, lastAt: Uptime(microseconds: .min)) }
    let files = try folder.outboxFolder()
    #expect(try files.replace(entry))
    #expect(try outbox.entries().map(\.attempts) == [min(max(attempts, 0), .max - 1)])
    server.set(.fails(RequestError(.httpStatus, "Oops.", status: 500)))
    for _ in 0..<(attempts < 0 ? 8 : 1) {
      scheduler.advance(by: .seconds(3_600))
      await outbox.flush()
    }
    #expect(try outbox.contents() == ["[a]"])
  }

  @Test func `a file whose name has a time that no entry has does not change the order of the others`() async throws {
    let outbox = try folder.outbox(server)
    _ = await outbox.outcome("a")
    let file = folder.path(try #require(entryFiles.first))
    let name = try #require(file.split(separator: "/").last)
    let forged = file.replacing(name, with: "0\(Int64.max)-\(name.dropFirst(21))")
    try FileManager.default.copyItem(atPath: file, toPath: forged)
    let others = try folder.outbox(server)
    for number in 0..<8 { _ = await others.outcome("\(number)") }
    #expect(try folder.outbox(server).entries().map(\.mutation) == ["a"] + (0..<8).map { "\($0)" })
  }

  @Test func `entries of another partition or another version are let be`() async throws {
    let mine = try folder.outbox(server, partition: "me")
    _ = await mine.outcome("a")
    let file = try #require(entryFiles.first)
    let yours = try folder.outbox(server, partition: "you")
    let other = RecordName(hashing: "you".utf8).hexadecimal
    let name = try #require(file.split(separator: "/").last)
    try FileManager.default.copyItem(atPath: folder.path(file), toPath: folder.path("\(other)/\(name)"))
    #expect(try yours.contents() == [])
    let newer = folder.path(file).replacing(".e1", with: ".e2")
    try FileManager.default.moveItem(atPath: folder.path(file), toPath: newer)
    #expect(try folder.outbox(server, partition: "me").contents() == [])
    #expect(FileManager.default.fileExists(atPath: newer))
  }
}
