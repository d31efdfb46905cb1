import Dispatch
import Foundation
import HTTPClientCore
import Stores
import Streams

/// Uses a disk cache, a normalised store or an outbox in a process of its own, for tests that kill it, or let several share a folder.
@main
struct DiskWriter {
  static func main() async throws {
    let arguments = CommandLine.arguments
    if arguments.count == 4, arguments[1] == "operations", let first = Int(arguments[3]) {
      try performOperations(in: arguments[2], from: first)
    }
    if arguments.count == 4, arguments[1] == "records", let first = Int(arguments[3]) {
      try await performRecordOperations(in: arguments[2], from: first)
    }
    if arguments.count == 4, arguments[1] == "submit", let first = Int(arguments[3]) {
      try submitNumbers(in: arguments[2], from: first)
    }
    if arguments.count == 3, arguments[1] == "lock" { try holdLock(arguments[2]) }
    if arguments.count == 5, arguments[1] == "share", let seconds = Double(arguments[3]),
      let seed = UInt64(arguments[4])
    {
      var folder = try SharedFolder(arguments[2], seed: seed)
      return try folder.use(for: seconds)
    }
    if arguments.count == 6, arguments[1] == "call", let call = WritingCall(rawValue: arguments[3]),
      let place = WritingCall.Place(rawValue: arguments[4])
    {
      try await call.perform(in: arguments[2], place, isRead: arguments[5] == "read")
    }
    print(
      "usage: DiskWriter operations FOLDER FIRST | records FOLDER FIRST | submit FOLDER FIRST | lock FILE | share FOLDER SECONDS SEED | "
        + "call FOLDER CALL PLACE READ")
    exit(64)
  }

  /// Holds the lock of a file until it is killed.
  private static func holdLock(_ file: String) throws -> Never {
    let files = SystemFileSystem()
    let lock = try files.open(file, .lock)
    while try !files.tryLock(lock) { usleep(1_000) }
    FileHandle.standardOutput.write(Data("locked\n".utf8))
    while true { pause() }
  }

  /// Performs one operation after the other until it is killed, and writes the number of each that is done.
  private static func performOperations(in folder: String, from first: Int) throws -> Never {
    let cache = try DiskCache<String, String>(folder: URL(fileURLWithPath: folder))
    var number = first
    while true {
      try Operation(number).perform(on: cache)
      FileHandle.standardOutput.write(Data("\(number)\n".utf8))
      number += 1
    }
  }
}

/// One step of a fixed sequence of writes and removals, so that a test knows what must be there after each.
package struct Operation: Sendable {
  /// The keys that the operations go round.
  package static let keys = (0..<5).map { "key \($0)" }

  private let number: Int

  /// The operation of this number, from 0 on.
  package init(_ number: Int) {
    self.number = number
  }

  /// The key it concerns.
  package var key: String { Self.keys[number % Self.keys.count] }

  /// What the key's value is after it; `nil` where it removes the value.
  package var value: String? {
    number % 7 == 3 ? nil : "\(number) " + String(repeating: "x", count: number * 7_919 % 20_000)
  }

  func perform(on cache: DiskCache<String, String>) throws {
    if let value {
      try cache.write(StoredValue(value, writtenAt: .now()), for: key)
    } else {
      try cache.remove(key)
    }
  }
}

/// Random operations on a folder that other processes use too.
struct SharedFolder {
  /// The limit of the folder, in bytes.
  static let limit = 200_000

  private let cache: DiskCache<String, String>
  private var random: UInt64

  init(_ folder: String, seed: UInt64) throws {
    cache = try DiskCache(folder: URL(fileURLWithPath: folder), limit: Self.limit)
    random = seed
  }

  /// Ends with an error where a value is not one that somebody wrote for its key.
  mutating func use(for seconds: Double) throws {
    let end = Date(timeIntervalSinceNow: seconds)
    while Date() < end {
      let key = "key \(next(below: 40))"
      switch next(below: 100) {
      case 0: try cache.removeAll()
      case 1..<5: try cache.remove(key)
      case 5..<7: _ = try cache.keys()
      case 7..<60: try check(cache.read(key)?.value, of: key)
      default: try cache.write(StoredValue(value(of: key), writtenAt: .now()), for: key)
      }
    }
  }

  /// A value of random length that tells its key and its length.
  private mutating func value(of key: String) -> String {
    let text = "\(key):\(next(below: 10_000)):"
    return text + String(repeating: "x", count: Int(text.split(separator: ":")[1]) ?? 0)
  }

  private func check(_ value: String?, of key: String) throws {
    guard let value else { return }
    let parts = value.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == key, Int(parts[1]) == parts[2].utf8.count else {
      print("\(key) has the value \(value.prefix(80)) of \(value.utf8.count) bytes")
      exit(1)
    }
  }

  /// A linear congruential generator is random enough here.
  private mutating func next(below bound: UInt64) -> UInt64 {
    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (random >> 33) % bound
  }
}

/// Puts one number after the other into an outbox that reaches no server, until it is killed or its account is signed out,
/// and writes each that is said to be queued.
func submitNumbers(in folder: String, from first: Int) throws -> Never {
  let outbox = try Outbox<Int, Int>(
    folder: URL(fileURLWithPath: folder), partition: "", isIdempotent: { _ in true },
    send: { _, _ in .error(RequestError(.cannotConnect, "There is no server.")) })
  var number = first
  while true {
    let ended = DispatchSemaphore(value: 0)
    let submission = outbox.submit(number).subscribe(onError: { [number] error in
      if case OutboxError.queued = error { FileHandle.standardOutput.write(Data("\(number)\n".utf8)) }
      if case OutboxError.signedOut = error { exit(0) }
      ended.signal()
    })
    ended.wait()
    submission.dispose()
    number += 1
  }
}
