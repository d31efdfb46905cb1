import Foundation
import Glibc
import StoresTestSupport
import Testing

@testable import Stores

@Suite("the machine's file system")
struct SystemFileSystemTests {
  private let folder = TemporaryFolder()
  private let files = SystemFileSystem()

  init() throws {
    try files.makeFolders(folder.url.path)
  }

  @Test func `D1: a new file is made by this very call`() throws {
    let path = folder.path("new")
    try files.close(files.open(path, .create))
    let error = #expect(throws: FileError.self) { try files.close(files.open(path, .create)) }
    #expect(error == FileError(code: EEXIST, call: "open", file: "new"))
  }

  @Test(.timeLimit(.minutes(1)))
  func `a pipe or a device is not read, since it may have no end`() throws {
    try #require(mkfifo(folder.path("pipe"), 0o600) == 0)
    try files.makeFolders(folder.path("folder"))
    for (path, code) in [(folder.path("pipe"), ENOTSUP), ("/dev/zero", ENOTSUP), (folder.path("folder"), EISDIR)] {
      let error = #expect(throws: FileError.self) { try files.close(files.open(path, .read)) }
      #expect(error?.code == code)
      #expect(error?.isOfOneFile == true)
    }
  }

  @Test(arguments: [FileMode.create, .lock])
  func `D1: a file is made through no link`(mode: FileMode) throws {
    let (link, target) = (folder.path("link"), folder.path("target"))
    try #require(symlink(target, link) == 0)
    #expect(throws: FileError.self) { try files.close(files.open(link, mode)) }
    #expect(access(target, F_OK) != 0)
  }

  @Test func `D1: a new folder is on the device, with those around it`() throws {
    let files = FaultyFileSystem()
    let path = folder.path("a/b/c")
    try files.makeFolders(path)
    #expect(access(path, F_OK) == 0)
    #expect(files.unsyncedFolders == [])
    #expect(files.names.count { $0 == "sync" } == 3)
    #expect(files.openCount == 0)
  }

  @Test func `D1: a folder that cannot be synced is made again, and one that is there already is left alone`() throws {
    let files = FaultyFileSystem()
    files.fail("sync", number: 0)
    #expect(throws: FileError(code: EIO, call: "sync")) { try files.makeFolders(folder.path("new")) }
    #expect(files.openCount == 0)
    for names in [["makeFolder", "open", "sync", "close"], ["makeFolder"]] {
      files.fail(call: nil)
      try files.makeFolders(folder.path("new"))
      #expect(files.names == names)
    }
    #expect(files.unsyncedFolders == [])
  }

  @Test func `D1: a folder is made through a link to the one around it`() throws {
    try files.makeFolders(folder.path("real"))
    try #require(symlink(folder.path("real"), folder.path("link")) == 0)
    try files.makeFolders(folder.path("link/new"))
    #expect(access(folder.path("real/new"), F_OK) == 0)
  }
}
