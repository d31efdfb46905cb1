import Foundation
import StoresTestSupport
import TestSupport
import Testing

@testable import Stores

@Suite("the outbox and its processes")
struct OutboxProcessTests {
  @Test func `D2: every mutation reported as queued is whole and in order after a kill -9 at any time`() async throws {
    let folder = TemporaryFolder()
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SplitMix(seed: seed)
    var queued: [Int] = []
    for round in 0..<TestScale.count(15, long: 200) {
      let first = (queued.last ?? 0) + 1
      let told = try await numbers(ofKilledWriter: ["submit", folder.url.path, "\(first)"], using: &random)

      let files = try OutboxFolder<Int>(folder.url, partition: "", fileSystem: SystemFileSystem())
      let names = try files.names()
      let kept = try names.compactMap { try files.read($0)?.mutation }
      #expect(kept.count == names.count, "a damaged entry in round \(round) of seed \(seed)")
      // One may be kept that it had no time to tell of.
      let untold = queued + told + [(told.last ?? 0) + 1]
      #expect(kept == queued + told || kept == untold, "round \(round) of seed \(seed)")
      #expect(!folder.files.contains { $0.contains("temporary") })
      queued = kept
      // The outbox is not to grow without end.
      if queued.count > 200 {
        try names.forEach(files.remove)
        queued = []
      }
    }
  }

  @Test func `A2: a sign-out while another process adds leaves nothing, and ends the other's outbox`() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SplitMix(seed: seed)
    for round in 0..<TestScale.count(5, long: 100) {
      let folder = TemporaryFolder()
      let child = try ChildProcess(RepositoryLayout.executable("DiskWriter"), ["submit", folder.url.path, "1"])
      try await child.waitForOutput(containing: "\n")
      // There is no event to wait for: it may come anywhere.
      usleep(UInt32.random(in: 0..<8_000, using: &random))
      try OutboxFolder<Int>(folder.url, partition: "", fileSystem: SystemFileSystem()).signOut()
      let state = try await child.waitForEnd()
      #expect(state.ending == .exited(0), "round \(round) of seed \(seed): \(state.errorText)")
      #expect(!folder.files.contains { $0.hasSuffix(".e1") }, "round \(round) of seed \(seed)")
    }
  }
}
