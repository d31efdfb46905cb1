import Foundation
import Glibc
import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import TestSupport
import Testing

@testable import Stores

/// Calls while another process holds the lock of the folder.
@Suite(.timeLimit(.minutes(2)), .serialized) struct LockedFolderTests {
  typealias Strings = Store<String, String>

  /// A call of a store, which ends when the lock is free.
  struct Call: CustomStringConvertible {
    let description: String
    let run: @Sendable (Strings, StoreGroup<String, String, String>) async throws -> Void

    init(
      _ description: String,
      _ run: @escaping @Sendable (Strings, StoreGroup<String, String, String>) async throws -> Void
    ) {
      self.description = description
      self.run = run
    }
  }

  static let calls = [
    Call("save") { store, _ in await store.save("w", for: "k") },
    Call("update") { store, _ in await store.update("k") { $0 += "w" } },
    Call("receive") { store, _ in await store.receive("k") { $0 + "w" } },
    Call("remove") { store, _ in await store.remove("k") },
    Call("invalidate") { store, _ in await store.invalidate("k") },
    Call("invalidateAll") { store, _ in await store.invalidateAll() },
    Call("clear") { store, _ in try await store.clear() },
    Call("signOut") { store, _ in try await store.signOut() },
    Call("close") { store, _ in
      store.perform { $0.remove("k") }
      await store.close()
    },
    Call("get") { store, _ in _ = try await store.get("new", .networkOnly).value },
    Call("a failing get") { store, _ in _ = try? await store.get("forbidden", .networkOnly).value },
    Call("mutate") { store, _ in _ = try await store.mutate(.of("k") { $0 }, send: { .just("w") }).value },
    Call("mutateAll") { store, _ in
      _ = try await store.mutate(.ofAll { $1 + "w" }, send: { Observable<Int>.just(1) }).value
    },
    Call("follow") { store, _ in
      let live = Observable<LiveEvent<String>>.from([.connected, .value("w"), .dropped(1)])
      for try await _ in store.follow("k", live, change: { event, value in value + event }).values {}
    },
    Call("a group's close") { _, group in await group.close() },
    Call("a group's signOut") { _, group in try await group.signOut("account") },
  ]

  @Test(arguments: calls)
  func `D7, E2: a call waits for another process without a thread`(_ call: Call) async throws {
    let folder = TemporaryFolder()
    let open: @Sendable (String) throws -> Strings = { account in
      let cache = try DiskCache<String, String>(
        folder: folder.url, partition: account, coder: .json, lockTimeout: .seconds(60))
      let fetcher = Fetcher<String, String>.ofStream { key in
        key == "forbidden" ? .error(RequestError(.httpStatus, "", status: 403)) : .just(key)
      }
      return Strings(fetcher, storage: .source(cache))
    }
    let group = StoreGroup<String, String, String> { try open($0) }
    let store = try group.store(for: "account")
    await store.save("v", for: "k")
    let child = try ChildProcess(
      RepositoryLayout.executable("DiskWriter"),
      ["lock", folder.path(try #require(folder.files.first { $0.hasSuffix("/lock") }))])
    try await child.waitForOutput(containing: "locked")
    // More than there are threads.
    let calls = (0..<8).map { _ in Task { _ = try? await call.run(store, group) } }
    // Would wait for a minute if each thread waited for the lock.
    let begin = ContinuousClock.now
    for _ in 0..<8 { await Task { await Task.yield() }.value }
    #expect(.now - begin < .seconds(30))
    child.send(SIGKILL)
    _ = try await child.waitForEnd()
    for call in calls { await call.value }
  }
}
