import Streams
import Synchronization

/// Streams that all who follow the same thing share: the first one connects, and the last one to leave disconnects.
/// Without this, each of 40 browsers of one account would fetch a timeline again for each like.
final class SharedUpdates<Key: Hashable & Sendable, Update: Sendable>: Sendable {
  private let streams = Mutex<[Key: Observable<Update>]>([:])

  /// The stream of a key, with its last update first; `connect` makes it if nobody follows it yet.
  func stream(_ key: Key, connect: () throws -> Observable<Update>) throws -> Observable<Update> {
    let new = try connect().do(onDispose: { [weak self] in self?.streams.withLock { $0[key] = nil } }).share(replay: 1)
    return streams.withLock { streams in
      let stream = streams[key] ?? new
      streams[key] = stream
      return stream
    }
  }
}
