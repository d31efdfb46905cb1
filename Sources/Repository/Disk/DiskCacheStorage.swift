import HTTP
public import HTTPMiddlewares
import JSON
public import Platform
import Streams

/// Keeps the responses of a `CacheMiddleware` in files, and those that were used last in memory, too: a command that is
/// started again works from what the one before it has stored, and asks only whether that is current.
///
///     let storage = try DiskCacheStorage(folder: folder)
///     try APIClient(baseURL: url, middlewares: .standard(tokens: tokens, cache: storage))
///
/// The files are records of a ``DiskCache``, with its guarantees: replaced atomically, checked when they are read, for
/// their owner's eyes only. Neither URLs nor owners are written, only digests of them; bodies and header fields are, as
/// the server sent them. Several processes may share a folder; a process sees what another has stored once it has
/// nothing in memory.
///
/// A write that fails, or waits for another process for longer than `lockTimeout`, stores nothing.
public final class DiskCacheStorage: CacheStorage {
  private let files: DiskCache<String, [CachedResponse]>
  private let memory: MemoryCacheStorage
  /// How often something was removed from the files at a sign-out.
  private let removals = Locked(0)

  /// Opens a folder, and creates it if it does not exist.
  /// - Parameters:
  ///   - folder: A folder for this storage alone.
  ///   - limit: How much of the device the files may take, in bytes; the oldest are removed first.
  ///   - memoryLimit: How many bytes to keep in memory, too.
  ///   - lockTimeout: How long a write may wait for another process.
  /// - Throws: ``FileError`` if the folder cannot be created or read.
  public init(
    folder: URL, limit: Int = 64 << 20, memoryLimit: Int = 4 << 20, lockTimeout: Duration = .milliseconds(100)
  ) throws {
    files = try DiskCache(
      folder: folder, partition: "responses", limit: limit, coder: .cachedResponses, lockTimeout: lockTimeout)
    memory = MemoryCacheStorage(limit: memoryLimit)
  }

  /// The responses of a key; none if they cannot be read.
  public func responses(for key: CacheKey) -> [CachedResponse] {
    let known = memory.responses(for: key)
    let before = removals.withLock { $0 }
    guard known.isEmpty, let stored = try? files.read(key.fileKey) else { return known }
    memory.store(stored.value, for: key)
    // What was read just before its account signed out must not stay in memory.
    if removals.withLock({ $0 }) != before { memory.store([], for: key) }
    return stored.value
  }

  /// Replaces the responses of a key.
  public func store(_ responses: [CachedResponse], for key: CacheKey) {
    memory.store(responses, for: key)
    if responses.isEmpty {
      try? files.remove(key.fileKey)
    } else if (try? files.write(StoredValue(responses, writtenAt: .now()), for: key.fileKey)) == nil {
      // What could not be replaced must not come back in its place.
      try? files.remove(key.fileKey)
    }
  }

  /// Removes all responses of an account, or of all; their files are unlinked when this returns. Throws ``FileError``.
  public func removeAll(of account: String?) throws {
    defer {
      removals.withLock { $0 += 1 }
      memory.removeAll(of: account)
    }
    guard let account else { return try files.removeAll() }
    let prefix = CacheKey.digest(of: account)
    for key in try files.keys() where key.hasPrefix(prefix) { try files.remove(key) }
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
  let varyingValues: [String?]

  init(_ response: CachedResponse) {
    status = response.response.head.status
    fields = response.response.head.headers.map { [$0.name, $0.value] }
    requestTime = response.requestTime
    responseTime = response.responseTime
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
      responseTime: responseTime, varyingValues: varyingValues)
  }
}
