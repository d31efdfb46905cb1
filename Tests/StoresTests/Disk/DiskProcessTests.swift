import DiskWriter
import Foundation
import Glibc
import StoresTestSupport
import TestSupport
import Testing

@testable import Stores

@Suite("the disk cache and its processes")
struct DiskProcessTests {
  let folder = TemporaryFolder()

  @Test func `D2: every entry is the old one or the new after a kill -9 at any time`() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SplitMix(seed: seed)
    var next = 0
    for round in 0..<TestScale.count(25, long: 1_000) {
      let done = try await numbers(ofKilledWriter: ["operations", folder.url.path, "\(next)"], using: &random)
      let last = try #require(done.last)

      let cache = try DiskCache<String, String>(folder: folder.url)
      for key in Operation.keys {
        let old = (0...last).last { Operation($0).key == key }.flatMap { Operation($0).value }
        let found = try cache.read(key)?.value
        let begun = Operation(last + 1)
        let isNew = begun.key == key && found == begun.value
        #expect(found == old || isNew, "round \(round) of seed \(seed), after operation \(last)")
      }
      #expect(!folder.files.contains { $0.contains("temporary") })
      next = last + 1
    }
  }

  @Test func `D7: two processes on one folder find nothing but what was written`() async throws {
    let seconds = TestScale.count(1, long: 60)
    let children = try (1...2).map { seed in
      try ChildProcess(
        RepositoryLayout.executable("DiskWriter"), ["share", folder.url.path, "\(seconds)", "\(seed)"])
    }
    for child in children {
      let state = try await child.waitForEnd(within: .seconds(seconds + 60))
      #expect(state.exitCode == 0, "\(state)")
    }
    let cache = try DiskCache<String, String>(folder: folder.url)
    #expect(try cache.keys().count == folder.records.count)
    #expect(cache.statistics.count == folder.records.count)
    #expect(folder.size <= 200_000)
  }

  @Test func `D5: files are the owner's alone under any mask`() async throws {
    for mask in ["000", "777"] {
      let path = folder.path(mask)
      let child = try ChildProcess(
        URL(fileURLWithPath: "/bin/sh"),
        ["-c", "umask \(mask); exec \"$0\" operations \"$1\" 0", RepositoryLayout.executable("DiskWriter").path, path])
      try await child.waitForOutput(containing: "10\n")
      child.send(SIGKILL)
      _ = try await child.waitForEnd()
      let names = try FileManager.default.subpathsOfDirectory(atPath: path)
      #expect(names.count > 3)
      for name in names + [""] {
        var status = stat()
        #expect(lstat("\(path)/\(name)", &status) == 0)
        let isFolder = status.st_mode & S_IFMT == S_IFDIR
        let (mode, wanted): (mode_t, mode_t) = (status.st_mode & 0o7777, isFolder ? 0o700 : 0o600)
        // A file that was just made when its writer was killed may still lack what the mask took from it.
        let isBegun = name.contains("temporary") && mode & ~wanted == 0
        #expect(mode == wanted || isBegun, "\(mask) \(name)")
      }
    }
  }
}
