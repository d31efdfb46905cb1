import Dispatch
import Foundation
import HTTPClientCore
import Stores
import Streams

/// An outbox that reaches no server, so that whatever is submitted stays in it.
final class WaitingOutbox {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString)")
  private let waiting: Int
  private var outbox: Outbox<Int, Int>?
  private var lastFolder = 0

  /// - Parameter waiting: How many entries wait in it at first.
  init(waiting: Int) throws {
    self.waiting = waiting
    try open()
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Opens an outbox with that many entries.
  private func open() throws {
    lastFolder += 1
    let outbox = try Outbox<Int, Int>(
      folder: folder.appendingPathComponent("\(lastFolder)"), partition: "", isIdempotent: { _ in true },
      send: { _, _ in .error(RequestError(.cannotConnect, "There is no server.")) })
    self.outbox = outbox
    for number in 0..<waiting { submit(number) }
  }

  /// Returns once the entry is on disk, and an attempt has failed.
  private func submit(_ number: Int) {
    let end = DispatchSemaphore(value: 0)
    let submission = outbox?.submit(number).subscribe(onError: { _ in end.signal() })
    end.wait()
    submission?.dispose()
  }

  /// Each run begins with the same number of entries: what it adds is to be few beside them, or its outbox is a new one.
  func submit(_ name: String, operations: Int) -> Row {
    Row(
      name: name, count: operations,
      works: [
        { index in
          if index == 0, self.waiting == 0 { try self.open() }
          self.submit(index)
          return index
        }, nil, nil, nil, nil,
      ])
  }
}
