import Repository
import Streams
import TestSupport

/// What several stores share: an asynchronous source of truth in memory, which can be slow, fail, and lose its values.
final class SharedTruth: AsyncSourceOfTruth {
  /// The values of all instances.
  final class Server: Sendable {
    fileprivate let values = Locked<[String: StoredValue<String>]>([:])
    fileprivate let changes = PublishSubject<(by: ObjectIdentifier?, change: SourceChange<String>)>()
    /// How many reads there were.
    let reads = Monitor(0)
    private let state = Locked<(isAway: Bool, gate: [CheckedContinuation<Void, Never>]?)>((false, nil))

    var isAway: Bool {
      get { state.withLock { $0.isAway } }
      set { state.withLock { $0.isAway = newValue } }
    }

    func value(_ key: String) -> StoredValue<String>? { values.withLock { $0[key] } }

    /// Waits until the values are as they should be.
    func wait(until isFulfilled: @escaping @Sendable ([String: StoredValue<String>]) -> Bool) async throws {
      let written = Monitor(0)
      let watching = changes.asObservable().subscribe(onNext: { _ in written.update { $0 += 1 } })
      defer { watching.dispose() }
      try await written.wait { _ in isFulfilled(self.values.withLock { $0 }) }
    }

    func report(_ change: SourceChange<String>) { changes.onNext((nil, change)) }

    /// Whatever comes, waits, and does not react to being cancelled.
    func stall() { state.withLock { $0.gate = [] } }

    func resume() {
      let waiting = state.withLock { exchange(&$0.gate, with: nil) } ?? []
      for continuation in waiting { continuation.resume() }
    }

    func comeBack() {
      isAway = false
      changes.onNext((nil, .all))
    }

    fileprivate func pass() async throws {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
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

  init(_ server: Server, timeLimit: Duration = .milliseconds(100)) {
    self.server = server
    self.timeLimit = timeLimit
  }

  var changes: Observable<SourceChange<String>> {
    server.changes.asObservable().filter { [id = ObjectIdentifier(self)] in $0.by != id }.map(\.change)
  }

  func read(_ key: String) async throws -> StoredValue<String>? {
    try await server.pass()
    defer { server.reads.update { $0 += 1 } }
    return server.value(key)
  }

  func write(_ stored: StoredValue<String>, for key: String, isResponse: Bool) async throws {
    try await change([key]) { $0[key] = stored }
  }

  func invalidate(_ key: String) async throws { try await change([key]) { $0[key]?.isInvalidated = true } }

  func remove(_ key: String) async throws { try await change([key]) { $0[key] = nil } }

  func removeAll() async throws { try await change(try await keys()) { $0 = [:] } }

  func keys() async throws -> [String] { server.values.withLock { Array($0.keys) } }

  private func change(_ keys: [String], _ body: (inout [String: StoredValue<String>]) -> Void) async throws {
    try await server.pass()
    server.values.withLock { body(&$0) }
    for key in keys { server.changes.onNext((ObjectIdentifier(self), .key(key))) }
  }
}
