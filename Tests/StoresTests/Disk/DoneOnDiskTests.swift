import DiskWriter
import Foundation
import Stores
import StoresTestSupport
import TestSupport
import Testing

/// What is reported as done is there for the next process, however this one ends.
@Suite(.timeLimit(.minutes(10))) struct DoneOnDiskTests {
  @Test(arguments: WritingCall.allCases, WritingCall.Place.allCases)
  func `D3: a process that ends with the report has written`(call: WritingCall, place: WritingCall.Place) async throws {
    for round in 0..<TestScale.count(2, long: 20) {
      for isRead in ["read", "unread"] {
        let folder = TemporaryFolder()
        let cache = folder.url.appendingPathComponent("cache")
        let before = try DiskCache<String, String>(folder: cache)
        for key in ["k", "l"] { try before.write(StoredValue("old", writtenAt: .now()), for: key) }
        let child = try ChildProcess(
          RepositoryLayout.executable("DiskWriter"), ["call", folder.url.path, call.rawValue, place.rawValue, isRead])
        let state = try await child.waitForEnd()
        #expect(state.exitCode == 0, "\(state.errorText)")
        let after = try DiskCache<String, String>(folder: cache)
        let (k, l) = (try after.read("k"), try after.read("l"))
        // What is not in memory, others may be changing: it is marked.
        let marksOnly = place == .shared && isRead == "unread"
        for (stored, value) in [(k, call.value), (l, call.otherValue)] {
          let isMarked = marksOnly && stored?.value == "old" && stored?.isInvalidated == true
          #expect(stored?.value == value || call.changesAll && isMarked, "\(isRead), round \(round)")
        }
        if call == .invalidate { #expect(k?.isInvalidated == true) }
      }
    }
  }
}
