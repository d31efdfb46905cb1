import DiskWriter
import Foundation
import Glibc
import GraphQLClient
import StoresTestSupport
import StrictJSON
import TestSupport
import Testing

@testable import Stores

/// A normalised store on disk, and its processes.
@Suite struct NormalizedProcessTests {
  private let folder = TemporaryFolder()

  @Test func `D2: after a kill -9 at any time, all that was done is there, and no more than was begun`()
    async throws
  {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SplitMix(seed: seed)
    var next = 0
    for round in 0..<TestScale.count(25, long: 1_000) {
      let done = try await numbers(ofKilledWriter: ["records", folder.url.path, "\(next)"], using: &random)
      let last = try #require(done.last)

      let store = try openRecords(in: folder.url)
      for id in RecordOperation.ids {
        let old = (0...last).last { RecordOperation($0).id == id }.flatMap { RecordOperation($0).text }
        let found = store.peek(GetItem(id))?.value?.item.text
        let begun = RecordOperation(last + 1)
        let isNew = begun.id == id && found == begun.text
        #expect(found == old || isNew, "round \(round) of seed \(seed), after operation \(last)")
      }
      await store.close()
      #expect(!folder.files.contains { $0.contains("temporary") })
      next = last + 1
    }
  }

  @Test func `a second process is refused while the first has the folder`() async throws {
    let child = try ChildProcess(RepositoryLayout.executable("DiskWriter"), ["records", folder.url.path, "0"])
    try await child.waitForOutput(containing: "\n")
    #expect(throws: NormalizedStorageError.alreadyOpen) { try openRecords(in: folder.url) }
    child.send(SIGKILL)
    _ = try await child.waitForEnd()
    #expect(throws: Never.self) { try openRecords(in: folder.url) }
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `N15: any sequence of responses, edits, refusals and restarts shows what dictionaries do`(seed: UInt64)
    async throws
  {
    var random = SplitMix(seed: seed)
    var folder = folder
    var world = try NormalizedWorld(in: folder.url)
    var slow: Recorder<Snapshot<GetIssue.ResponseData>>?
    var (titles, states): ([String: String], [String: String]) = ([:], [:])
    var requested: Set<String> = []
    var lost: Set<String> = []
    var log: [String] = []
    for step in 0..<40 {
      let id = "\(Int.random(in: 1...3, using: &random))"
      let kind = Int.random(in: 0..<12, using: &random)
      log.append("\(kind) \(id)")
      switch kind {
      case 0, 1, 2:
        try await world.request(GetIssue(id), issue(id, "t\(step)", "s\(step)"))
        (titles[id], states[id]) = ("t\(step)", "s\(step)")
        requested.insert(id)
        lost.remove(id)
      case 3:
        let mutation = Recorder(world.store.mutate(RenameIssue(id, "x")))
        world.server.last.data(renamed(id, "m\(step)"))
        try await mutation.waitForCompletion()
        titles[id] = "m\(step)"
      case 4:
        let isChanged = try world.store.update(GetIssue(id)) { $0.issue?.title = "e\(step)" }
        if isChanged { titles[id] = "e\(step)" }
      case 5:
        world.store.invalidate(EntityID("Issue", id: id))
        (titles[id], states[id]) = (nil, nil)
        lost.insert(id)
      case 6:
        let refused = Recorder(world.store.get(GetIssue(id), .networkOnly))
        world.server.last.answer("{}", status: 403)
        try await refused.waitForEnd()
        requested.remove(id)
        lost.remove(id)
      case 7 where slow == nil: slow = Recorder(world.store.get(GetIssue("9"), .networkOnly))
      case 7, 8:
        slow?.dispose()
        slow = nil
      case 9 where step % 4 == 0:
        try await world.store.clear()
        (titles, states, requested) = ([:], [:], [])
      case 10:
        await world.store.close()
        slow = nil
        world = try NormalizedWorld(in: folder.url)
      default:
        // The process ends.
        folder = try folder.copy()
        slow = nil
        world = try NormalizedWorld(in: folder.url)
      }
      for id in ["1", "2", "3"] {
        var wanted: String?
        if requested.contains(id), let title = titles[id], let state = states[id] { wanted = "\(id) \(title) \(state)" }
        let snapshot = world.store.peek(GetIssue(id))
        // A read that has only just ended may still hold its value, which is stale then.
        if wanted == nil, lost.contains(id), snapshot?.isStale == true { continue }
        #expect(snapshot?.value?.description == wanted, "seed \(seed): \(log)")
      }
    }
  }
}
