import HTTPClientCore
public import HTTPMiddlewares
import Streams
import StrictJSON
public import SystemBase

/// Keeps the responses of a `CacheMiddleware` in files, and those that were used last in memory, too: a command that is
/// started again works from what the one before it has stored, and asks only whether that is current.
///
///     let storage = try DiskCacheStorage(folder: folder)
///     try APIClient(baseURL: url, middlewares: .standard(tokens: tokens, cache: storage))
///
/// The files are records of a ``DiskCache``, with its guarantees: replaced atomically, checked when they are read, for
/// their owner's eyes only. Neither URLs nor owners are written, only digests of them; bodies and header fields are, as
/// the server sent them.
///
/// Several processes may share a folder. What another process has stored or removed is seen within a tenth of a second.
/// A write that fails, or waits for another process for longer than `lockTimeout`, stores nothing. What could not be
/// removed is not given any more by this object, and is removed in the background as soon as the device and the other
/// processes allow it; until then another process may serve it, and so may the next one if this one ends meanwhile.
public final class DiskCacheStorage: CacheStorage {
  /// What is to be removed from the files, and could not be.
  private struct Leftovers {
    var keys: Set<String> = []
    /// What the keys begin with; all keys begin with the empty one.
    var prefixes: Set<String> = []
    /// How often their removal has failed in a row; `nil` while nobody tries.
    var failureCount: Int?

    var isEmpty: Bool { keys.isEmpty && prefixes.isEmpty }

    func contain(_ key: String) -> Bool { keys.contains(key) || prefixes.contains { key.hasPrefix($0) } }
  }

  private static let backoff = Backoff(initial: .milliseconds(50), maximum: .seconds(5), jitter: 0.5)

  /// The calls that are reading or replacing the file of a key.
  private struct Calls {
    var count = 0
    var hasStore = false
    /// Whether one that replaces the file has overlapped with another call: what either puts into memory may be older
    /// than the file.
    var hasOverlapped = false
  }

  /// How long what is in memory counts as what is in the folder.
  private static let lookInterval = Duration.milliseconds(100)

  private let files: DiskCache<String, [CachedResponse]>
  private let memory: MemoryCacheStorage
  private let leftovers = Locked(Leftovers())
  private let lookedAt = Locked(Duration?.none)
  private let calls = Locked<[CacheKey: Calls]>([:])
  private let scheduler: any Scheduler

  /// What was removed lately.
  public var removals: CacheRemovals { memory.removals }

  /// Opens a folder, and creates it if it does not exist.
  /// - Parameters:
  ///   - folder: A folder for this storage alone.
  ///   - limit: How much of the device the files may take, in bytes; the oldest are removed first.
  ///   - memoryLimit: How many bytes to keep in memory, too.
  ///   - lockTimeout: How long a write may wait for another process.
  /// - Throws: ``FileError`` if the folder cannot be created or read.
  public convenience init(
    folder: URL, limit: Int = 64 << 20, memoryLimit: Int = 4 << 20, lockTimeout: Duration = .milliseconds(100)
  ) throws {
    try self.init(
      folder: folder, limit: limit, memoryLimit: memoryLimit,
      fileSystem: SystemFileSystem(lockTimeout: lockTimeout), scheduler: ElasticScheduler())
  }

  init(
    folder: URL, limit: Int = 64 << 20, memoryLimit: Int = 4 << 20, fileSystem: some FileSystem,
    scheduler: some Scheduler
  ) throws {
    files = try DiskCache(
      folder: folder, partition: "responses", limit: limit, coder: .cachedResponses, fileSystem: fileSystem)
    memory = MemoryCacheStorage(limit: memoryLimit)
    self.scheduler = scheduler
    _ = try files.refresh()
  }

  /// The responses of a key; none if they cannot be read.
  public func responses(for key: CacheKey) -> [CachedResponse] {
    refresh()
    let known = memory.responses(for: key)
    if !known.isEmpty || leftovers.withLock({ $0.contain(key.fileKey) }) { return known }
    let time = removals.now
    begin(key, isStore: false)
    defer { end(key) }
    guard let stored = try? files.read(key.fileKey) else { return [] }
    memory.store(stored.value, for: key)
    // What was read just before it was removed must not stay in memory.
    guard removals.concern(key, since: time) else { return stored.value }
    memory.store([], for: key)
    return []
  }

  /// Replaces the responses of a key.
  public func store(_ responses: [CachedResponse], for key: CacheKey) {
    begin(key, isStore: true)
    defer { end(key) }
    memory.store(responses, for: key)
    do {
      if !responses.isEmpty, (try? files.write(StoredValue(responses, writtenAt: .now()), for: key.fileKey)) != nil {
        leftovers.withLock { _ = $0.keys.remove(key.fileKey) }
      } else if try files.contains(key.fileKey) {
        // What could not be replaced must not come back in its place either.
        try files.remove(key.fileKey)
      }
    } catch {
      removeLater { $0.keys.insert(key.fileKey) }
    }
  }

  /// Removes all responses of an account, or of all, and what may be one of them but cannot be read; their files, also
  /// those of other processes, are unlinked when this returns. Throws ``FileError``, and tries again in the background.
  public func removeAll(of account: String?) throws {
    removals.add(account: account)
    defer { memory.removeAll(of: account) }
    let prefix = account.map { CacheKey.digest(of: $0) } ?? ""
    do { try remove(prefix) } catch {
      removeLater { $0.prefixes.insert(prefix) }
      throw error
    }
  }

  private func remove(_ prefix: String) throws {
    if prefix.isEmpty { try files.removeAll() } else { try files.removeAll { $0.hasPrefix(prefix) } }
  }

  private func begin(_ key: CacheKey, isStore: Bool) {
    calls.withLock { calls in
      var ofKey = calls[key] ?? Calls()
      ofKey.count += 1
      ofKey.hasStore = ofKey.hasStore || isStore
      ofKey.hasOverlapped = ofKey.hasOverlapped || ofKey.hasStore && ofKey.count > 1
      calls[key] = ofKey
    }
  }

  /// Ends a call; if it has overlapped with another one, the next read reads the file.
  private func end(_ key: CacheKey) {
    if calls.withLock({ $0[key]?.hasOverlapped ?? false }) { memory.store([], for: key) }
    calls.withLock { calls in
      calls[key]?.count -= 1
      if calls[key]?.count == 0 { calls[key] = nil }
    }
  }

  /// Forgets what is in memory if another process has changed the folder.
  private func refresh() {
    let now = scheduler.now
    let isDue = lookedAt.withLock { lookedAt in
      if let lookedAt, now - lookedAt < Self.lookInterval { return false }
      lookedAt = now
      return true
    }
    guard isDue, (try? files.refresh()) ?? true else { return }
    calls.withLock { calls in for key in calls.keys { calls[key]?.hasOverlapped = true } }
    memory.forgetAll()
  }

  private func removeLater(_ note: @Sendable (inout Leftovers) -> Void) {
    let begins = leftovers.withLock { leftovers in
      note(&leftovers)
      guard leftovers.failureCount == nil else { return false }
      leftovers.failureCount = 1
      return true
    }
    if begins { tryAgain(after: 1) }
  }

  private func tryAgain(after failureCount: Int) {
    _ = scheduler.schedule(after: Self.backoff.delay(after: failureCount)) { [weak self] in self?.removeLeftovers() }
  }

  private func removeLeftovers() {
    let due = leftovers.withLock { $0 }
    for prefix in due.prefixes where (try? remove(prefix)) != nil {
      leftovers.withLock { _ = $0.prefixes.remove(prefix) }
    }
    for key in due.keys where (try? files.remove(key)) != nil {
      leftovers.withLock { _ = $0.keys.remove(key) }
    }
    let failureCount = leftovers.withLock { leftovers in
      leftovers.failureCount = leftovers.isEmpty ? nil : (leftovers.failureCount ?? 0) + 1
      return leftovers.failureCount
    }
    if let failureCount { tryAgain(after: failureCount) }
  }
}

extension CacheKey {
  fileprivate var fileKey: String { "\(accountDigest) \(ownerDigest) \(urlDigest)" }
}

extension RecordCoder where Key == String, Value == [CachedResponse] {
  /// Each response as a description in JSON and its body, both behind their length.
  fileprivate static var cachedResponses: RecordCoder {
    RecordCoder(
      encodeKey: { Data($0.utf8) }, decodeKey: { String(decoding: $0, as: UTF8.self) },
      encode: { responses in
        var data = Data()
        for response in responses {
          for part in [try JSONCoder().encode(ResponseRecord(response)), response.response.body] {
            withUnsafeBytes(of: UInt32(part.count).littleEndian) { data.append(contentsOf: $0) }
            data.append(part)
          }
        }
        return data
      },
      decode: { data in
        var rest = data[...]
        func next() throws -> Data {
          let length = rest.prefix(4).enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
          rest = rest.dropFirst(4)
          guard length <= rest.count else { throw CocoaError(.fileReadCorruptFile) }
          defer { rest = rest.dropFirst(length) }
          return Data(rest.prefix(length))
        }
        var responses: [CachedResponse] = []
        while !rest.isEmpty {
          let record = try JSONCoder().decode(ResponseRecord.self, from: next())
          responses.append(try record.response(with: next()))
        }
        return responses
      })
  }
}

/// A stored response without its body.
private struct ResponseRecord: Codable {
  let status: Int
  let fields: [[String]]
  let requestTime: Double
  let responseTime: Double
  let initialAge: Double?
  let varyingValues: [String?]

  init(_ response: CachedResponse) {
    status = response.response.head.status
    fields = response.response.head.headers.map { [$0.name, $0.value] }
    requestTime = response.requestTime
    responseTime = response.responseTime
    initialAge = response.initialAge
    varyingValues = response.varyingValues
  }

  func response(with body: Data) throws -> CachedResponse {
    var headers = HTTPHeaders()
    for field in fields {
      guard field.count == 2 else { throw CocoaError(.fileReadCorruptFile) }
      headers.append(try HTTPField(name: field[0], value: field[1]))
    }
    return CachedResponse(
      response: HTTPResponse(status: status, headers: headers, body: body), requestTime: requestTime,
      responseTime: responseTime, initialAge: initialAge, varyingValues: varyingValues)
  }
}
