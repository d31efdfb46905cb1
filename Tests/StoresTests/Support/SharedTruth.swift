import Stores
import StoresTestSupport
import Streams
import SystemBase
import TestSupport

/// What several stores share: an asynchronous source of truth in memory, which can be slow, fail, and lose its values.
final class SharedTruth: AsyncSourceOfTruth {
  /// The values of all instances.
  final class Server: Sendable {
    fileprivate let state = Locked(Kept())
    fileprivate let changes = PublishSubject<(by: ObjectIdentifier?, change: SourceChange<String>)>()
    /// How many reads there were.
    let reads = Monitor(0)
    /// How often everything was removed.
    let removals = Monitor(0)
    private let access = Locked<(isAway: Bool, gate: [CheckedContinuation<Void, Never>]?)>((false, nil))

    var isAway: Bool {
      get { access.withLock { $0.isAway } }
      set { access.withLock { $0.isAway = newValue } }
    }

    /// Fails the next changes of a key, though reads are answered, as a database without space does.
    let refused = Mutable<[String: Int]>([:])

    /// Whether responses are refused, as by a source that knows of other writes.
    let dropsResponses = Mutable(false)

    /// Where reads wait that have taken their value, before they return it; and writes and removals of everything, before
    /// they are made.
    let (readGate, writeGate, removalGate) = (TaskGate(), TaskGate(), TaskGate())

    /// How many writes have begun.
    let writes = Monitor(0)

    fileprivate func refusal(of key: String) -> (any Error)? {
      refused.update { refused in
        guard let count = refused[key], count > 0 else { return nil }
        refused[key] = count - 1
        return Away()
      }
    }

    func value(_ key: String) -> StoredValue<String>? { state.withLock { $0.values[key] } }

    /// Waits until the values are as they should be.
    func wait(until isFulfilled: @escaping @Sendable ([String: StoredValue<String>]) -> Bool) async throws {
      let written = Monitor(0)
      let watching = changes.asObservable().subscribe(onNext: { _ in written.update { $0 += 1 } })
      defer { watching.dispose() }
      try await written.wait { _ in isFulfilled(self.state.withLock { $0.values }) }
    }

    func report(_ change: SourceChange<String>) { changes.onNext((nil, change)) }

    /// Whatever comes, waits, and does not react to being cancelled.
    func stall() { access.withLock { $0.gate = [] } }

    func resume() {
      let waiting = access.withLock { exchange(&$0.gate, with: nil) } ?? []
      for continuation in waiting { continuation.resume() }
    }

    func comeBack() {
      isAway = false
      changes.onNext((nil, .all))
    }

    fileprivate func pass() async throws {
      await withCheckedContinuation { continuation in
        let isOpen = access.withLock { state in
          state.gate?.append(continuation)
          return state.gate == nil
        }
        if isOpen { continuation.resume() }
      }
      if isAway { throw Away() }
    }
  }

  struct Away: Error {}

  let server: Server
  let timeLimit: Duration
  let identity: String?

  init(_ server: Server, timeLimit: Duration = .milliseconds(100), identity: String? = nil) {
    self.server = server
    self.timeLimit = timeLimit
    self.identity = identity
  }

  var changes: Observable<SourceChange<String>> {
    server.changes.asObservable().filter { [id = ObjectIdentifier(self)] in $0.by != id }.map(\.change)
  }

  func read(_ key: String) async throws -> StoredValue<String>? {
    try await server.pass()
    defer { server.reads.update { $0 += 1 } }
    let value = server.value(key)
    await server.readGate.pass()
    return value
  }

  func write(
    _ stored: StoredValue<String>, for key: String, isResponse: Bool
  ) async throws -> SourceWriteResult {
    server.writes.update { $0 += 1 }
    await server.writeGate.pass()
    if isResponse, server.dropsResponses.value { return .superseded(by: .zero) }
    return try await change(key) { $0.write(stored, for: key) }
  }

  func invalidate(_ key: String, version: EntryVersion) async throws -> SourceWriteResult {
    try await change(key) { $0.invalidate(key, version) }
  }

  func remove(_ key: String, version: EntryVersion) async throws -> SourceWriteResult {
    try await change(key) { $0.remove(key, version) }
  }

  func removeAll(version: EntryVersion) async throws {
    await server.removalGate.pass()
    try await server.pass()
    let keys = server.state.withLock { state in
      defer { state = Kept(allRemoved: version) }
      return Array(state.values.keys)
    }
    for key in keys { server.changes.onNext((ObjectIdentifier(self), .key(key))) }
    server.removals.update { $0 += 1 }
  }

  func keys() async throws -> [String] {
    try await server.pass()
    return server.state.withLock { Array($0.values.keys) }
  }

  private func change(
    _ key: String, _ body: @Sendable (inout Kept) -> SourceWriteResult
  ) async throws -> SourceWriteResult {
    try await server.pass()
    if let refusal = server.refusal(of: key) { throw refusal }
    let result = server.state.withLock { body(&$0) }
    if result == .done { server.changes.onNext((ObjectIdentifier(self), .key(key))) }
    return result
  }
}

/// Where tasks wait, whether they are cancelled or not.
final class TaskGate: Sendable {
  /// How many have waited, or do.
  let held = Monitor(0)
  private let waiting = Mutable<[CheckedContinuation<Void, Never>]?>(nil)

  func hold() { waiting.update { $0 = [] } }

  /// Lets those through that wait, and holds the next.
  func letThrough() { for task in waiting.update({ exchange(&$0, with: []) }) ?? [] { task.resume() } }

  func release() { for task in waiting.update({ exchange(&$0, with: nil) }) ?? [] { task.resume() } }

  func pass() async {
    await withCheckedContinuation { continuation in
      let isHeld = waiting.update { waiting in
        waiting?.append(continuation)
        return waiting != nil
      }
      if isHeld { held.update { $0 += 1 } } else { continuation.resume() }
    }
  }
}

/// What a source of truth has to keep.
private struct Kept {
  var values: [String: StoredValue<String>] = [:]
  var removed: [String: EntryVersion] = [:]
  var invalidated: [String: EntryVersion] = [:]
  var allRemoved = EntryVersion.zero

  /// The version that stands in the way of a change.
  private func newer(than version: EntryVersion, _ key: String) -> EntryVersion? {
    let known = max(values[key]?.version ?? .zero, removed[key] ?? .zero, allRemoved)
    return known > version ? known : nil
  }

  mutating func write(_ stored: StoredValue<String>, for key: String) -> SourceWriteResult {
    if let newer = newer(than: stored.version, key) { return .superseded(by: newer) }
    values[key] = stored
    if invalidated[key] ?? .zero > stored.version { values[key]?.isInvalidated = true }
    return .done
  }

  mutating func invalidate(_ key: String, _ version: EntryVersion) -> SourceWriteResult {
    if let newer = newer(than: version, key) { return .superseded(by: newer) }
    invalidated[key] = max(version, invalidated[key] ?? .zero)
    values[key]?.isInvalidated = true
    return .done
  }

  mutating func remove(_ key: String, _ version: EntryVersion) -> SourceWriteResult {
    if let newer = newer(than: version, key) { return .superseded(by: newer) }
    values[key] = nil
    removed[key] = version
    return .done
  }
}
