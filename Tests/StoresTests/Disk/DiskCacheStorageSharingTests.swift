import Foundation
import HTTPClientCore
import HTTPMiddlewares
import StoresTestSupport
import Streams
import StreamsTesting
import Testing

@testable import Stores

/// Responses in a folder that several processes share: each storage stands for a process.
@Suite("responses in shared files")
struct DiskCacheStorageSharingTests {
  private let folder = TemporaryFolder()
  private let scheduler = TestScheduler()
  private let key = CacheKey(url: "https://a.example/x", owner: "A")

  private func storage() throws -> DiskCacheStorage {
    try DiskCacheStorage(
      folder: folder.url, fileSystem: SystemFileSystem(lockTimeout: .zero), scheduler: scheduler)
  }

  private func responses(_ text: String) -> [CachedResponse] {
    [
      CachedResponse(
        response: HTTPResponse(status: 200, headers: ["Cache-Control": "max-age=60"], body: Data(text.utf8)),
        requestTime: 0, responseTime: 0, varyingValues: [])
    ]
  }

  private func text(_ storage: DiskCacheStorage, _ key: CacheKey? = nil) -> String? {
    storage.responses(for: key ?? self.key).first.map { String(decoding: $0.response.body, as: UTF8.self) }
  }

  /// Runs a closure while another process holds the folder's lock.
  private func whileLocked(_ body: () throws -> Void) throws {
    let path = Partition.folder(of: "responses", in: folder.url).path
    try SystemFileSystem(lockTimeout: .zero).withExclusiveAccess(to: path) { _ in try body() }
  }

  @Test(arguments: [true, false])
  func `a response that is read while a newer one is stored does not stay in memory`(isHere: Bool) throws {
    let files = FaultyFileSystem()
    let other = try storage()
    other.store(responses("old"), for: key)
    let storage = try DiskCacheStorage(folder: folder.url, fileSystem: files, scheduler: scheduler)
    files.afterRead { [key, scheduler] in
      (isHere ? storage : other).store(responses("new"), for: key)
      // Another read finds that the folder has changed.
      scheduler.advance(by: .seconds(1))
      if !isHere { _ = storage.responses(for: CacheKey(url: "https://a.example/y", owner: "A")) }
    }
    _ = storage.responses(for: key)
    #expect(text(storage) == "new")
  }

  @Test func `F4: a sign-out removes what another process has stored, and what is damaged`() throws {
    let first = try storage()
    let second = try storage()
    second.store(responses("A's"), for: key)
    second.store(responses("A's other"), for: CacheKey(url: "https://a.example/y", owner: "A"))
    let damaged = try #require(folder.records.first)
    var bytes = try Data(contentsOf: URL(fileURLWithPath: folder.path(damaged)))
    bytes[0] ^= 1
    try bytes.write(to: URL(fileURLWithPath: folder.path(damaged)))
    second.store(responses("B's"), for: CacheKey(url: "https://a.example/x", owner: "B"))
    try first.removeAll(of: "A")
    #expect(folder.records.count == 1)
    #expect(try text(storage()) == nil)
    #expect(try text(storage(), CacheKey(url: "https://a.example/x", owner: "B")) == "B's")
  }

  @Test func `F4: a sign-out that another process keeps waiting fails, gives nothing any more, and is made up for`()
    throws
  {
    let storage = try storage()
    storage.store(responses("A's"), for: key)
    try whileLocked {
      #expect(throws: FileError.self) { try storage.removeAll(of: "A") }
      #expect(text(storage) == nil)
    }
    #expect(folder.records.count == 1)
    scheduler.advance(by: .seconds(1))
    #expect(folder.records == [])
    storage.store(responses("new"), for: key)
    #expect(try text(self.storage()) == "new")
  }

  @Test(arguments: [false, true])
  func `4.4: what cannot be removed, or replaced, for another process's lock is removed when that is free`(
    isReplaced: Bool
  ) throws {
    let storage = try storage()
    storage.store(responses("before"), for: key)
    try whileLocked {
      storage.store(isReplaced ? responses("after") : [], for: key)
      #expect(text(storage) == (isReplaced ? "after" : nil))
      // Still locked: the next attempt fails, too.
      scheduler.advance(by: .milliseconds(50))
      #expect(text(storage) == (isReplaced ? "after" : nil))
    }
    scheduler.advance(by: .seconds(1))
    #expect(folder.records == [])
    #expect(try text(self.storage()) == nil)
    #expect(scheduler.pendingCount == 0)
  }

  @Test func `4.4: a response that replaces what could not be removed stays`() throws {
    let storage = try storage()
    storage.store(responses("before"), for: key)
    try whileLocked { storage.store([], for: key) }
    storage.store(responses("after"), for: key)
    scheduler.advance(by: .seconds(10))
    #expect(try text(self.storage()) == "after")
  }

  @Test func `4.4: an invalidation finds what another process has stored`() throws {
    let (first, second) = (try storage(), try storage())
    second.store(responses("before"), for: key)
    first.store([], for: key)
    #expect(folder.records == [])
  }

  @Test func `F1: what another process has removed or replaced is seen within a tenth of a second`() throws {
    let (first, second) = (try storage(), try storage())
    first.store(responses("first"), for: key)
    #expect(text(first) == "first")
    scheduler.advance(by: .milliseconds(100))
    #expect(text(first) == "first")
    second.store(responses("second"), for: key)
    scheduler.advance(by: .milliseconds(100))
    #expect(text(first) == "second")
    try second.removeAll(of: "A")
    scheduler.advance(by: .milliseconds(100))
    #expect(text(first) == nil)
  }

  @Test func `E4: the age at its arrival is kept`() throws {
    let response = CachedResponse(
      response: HTTPResponse(status: 200, headers: ["Date": "Sun, 06 Nov 1994 08:49:37 GMT"]), requestTime: 0,
      responseTime: 784_115_377, initialAge: 5, varyingValues: [])
    try storage().store([response], for: key)
    #expect(try storage().responses(for: key).first?.initialAge == 5)
  }

  @Test func `two hosts behind one address have files of their own`() throws {
    let hosts = ["a", "b"].map { CacheKey(url: "https://a.example/x", host: $0, owner: "A") }
    for key in hosts { try storage().store(responses(key.host), for: key) }
    #expect(try hosts.map { try text(storage(), $0) } == ["a", "b"])
  }
}
