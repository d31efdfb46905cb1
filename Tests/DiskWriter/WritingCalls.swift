import Foundation
import GraphQLClient
import HTTPClientCore
import Stores
import Streams

/// A call that changes what a store has kept under "k" and "l", in a process that ends at once when the call is reported
/// as done.
package enum WritingCall: String, CaseIterable, Sendable {
  case save, update, receive, follow, response, invalidate, remove, clear, refusal
  case mutate, mutateAll, mutateAllElsewhere, show, showElsewhere

  /// The value of "k" that the next process finds; `nil` if none.
  package var value: String? {
    switch self {
    case .remove, .clear, .refusal: nil
    case .invalidate: "old"
    default: "new"
    }
  }

  /// Whether it changes all values.
  package var changesAll: Bool { [.mutateAll, .mutateAllElsewhere, .show, .showElsewhere].contains(self) }

  /// That of "l", which only some calls affect.
  package var otherValue: String? {
    switch self {
    case .clear: nil
    case .mutateAll, .mutateAllElsewhere, .show, .showElsewhere: "new"
    default: "old"
    }
  }

  /// Where a store keeps its values.
  package enum Place: String, CaseIterable, Sendable { case disk, shared }

  /// Makes the call, and ends the process.
  /// - Parameter isRead: Whether the values are in memory before.
  func perform(in folder: String, _ place: Place, isRead: Bool) async throws -> Never {
    let url = URL(fileURLWithPath: folder)
    let cache = try DiskCache<String, String>(folder: url.appendingPathComponent("cache"))
    let fetch: @Sendable (String) -> Observable<String> = { [self] _ in
      self == .refusal ? .error(RequestError(.httpStatus, "", status: 403)) : .just("new")
    }
    let store =
      switch place {
      case .disk: Store<String, String>(.ofStream(fetch), storage: .source(cache))
      case .shared: Store<String, String>(.ofStream(fetch), storage: .async(SharedFiles(cache: cache)))
      }
    if isRead { for key in ["k", "l"] { _ = try await store.get(key, .cacheOnly).value } }
    try await perform(on: store, url.appendingPathComponent("outbox"))
    _exit(0)
  }

  private func perform(on store: Store<String, String>, _ folder: URL) async throws {
    switch self {
    case .save: await store.save("new", for: "k")
    case .update: await store.update("k") { $0 = "new" }
    case .receive: await store.receive("k") { _ in "new" }
    case .follow:
      _ = try await store.follow("k", .just(LiveEvent.value("new"))) { live, _ in live }.value
    case .response: _ = try await store.fresh("k").value
    case .invalidate: await store.invalidate("k")
    case .remove: await store.remove("k")
    case .clear: try await store.clear()
    case .refusal: _ = try? await store.fresh("k").value
    case .mutate: _ = try await store.mutate(.of("k") { _ in "new" }, send: { .just("new") }).value
    case .mutateAll:
      _ = try await store.mutate(.ofAll(keyForResponse: { _ in "k" }) { _, _ in "new" }, send: { .just("new") }).value
    case .mutateAllElsewhere: _ = try await store.mutate(.ofAll { _, _ in "new" }, send: { .just(7) }).value
    case .show:
      let outbox = try Outbox<String, String>(
        folder: folder, partition: "", isIdempotent: { _ in true }, send: { _, _ in .just("new") })
      store.show(outbox) { _ in .ofAll(keyForResponse: { _ in "k" }) { _, _ in "new" } }
      _ = try await outbox.submit("new").value
    case .showElsewhere:
      let outbox = try Outbox<String, Int>(
        folder: folder, partition: "", isIdempotent: { _ in true }, send: { _, _ in .just(7) })
      store.show(outbox) { _ in .ofAll { _, _ in "new" } }
      _ = try await outbox.submit("new").value
    }
  }
}

/// Files as an asynchronous source of truth, for one process at a time.
private struct SharedFiles: AsyncSourceOfTruth {
  let cache: DiskCache<String, String>

  var timeLimit: Duration { .seconds(30) }

  func read(_ key: String) async throws -> StoredValue<String>? { try cache.read(key) }

  func write(
    _ stored: StoredValue<String>, for key: String, isResponse: Bool
  ) async throws -> SourceWriteResult {
    // So that what does not wait is found out.
    try await Task.sleep(for: .milliseconds(5))
    try cache.write(stored, for: key)
    return .done
  }

  func invalidate(_ key: String, version: EntryVersion) async throws -> SourceWriteResult {
    try await Task.sleep(for: .milliseconds(5))
    guard var stored = try cache.read(key) else { return .done }
    stored.isInvalidated = true
    try cache.write(stored, for: key)
    return .done
  }

  func remove(_ key: String, version: EntryVersion) async throws -> SourceWriteResult {
    try await Task.sleep(for: .milliseconds(5))
    try cache.remove(key)
    return .done
  }

  func removeAll(version: EntryVersion) async throws { try cache.removeAll() }

  func keys() async throws -> [String] { try cache.keys() }
}
