import Streams
import Synchronization

/// Streams that all who follow the same thing share: the first one connects, and the last one to leave disconnects.
/// Without this, each of 40 browsers of one account would fetch a timeline again for each like.
final class SharedUpdates<Key: Hashable & Sendable, Update: Sendable>: Sendable {
  private struct Shared {
    let number: Int
    let stream: Observable<Update>
  }

  private let state = Mutex((count: 0, streams: [Key: Shared](), followers: 0))

  /// How many streams are connected, and how many follow them.
  var counts: (streams: Int, followers: Int) { state.withLock { ($0.streams.count, $0.followers) } }

  /// The stream of a key, with its last update first; `connect` makes it for a subscriber whom nobody precedes.
  func stream(_ key: Key, connect: @escaping @Sendable () throws -> Observable<Update>) -> Observable<Update> {
    // Nothing is kept for a response that nobody reads, as that to HEAD.
    .deferred { [self] in
      try shared(key, connect).do(
        onSubscribe: { self.state.withLock { $0.followers += 1 } },
        onDispose: { self.state.withLock { $0.followers -= 1 } })
    }
  }

  private func shared(_ key: Key, _ connect: () throws -> Observable<Update>) rethrows -> Observable<Update> {
    if let shared = state.withLock({ $0.streams[key] }) { return shared.stream }
    let updates = try connect()
    return state.withLock { state in
      if let shared = state.streams[key] { return shared.stream }
      state.count += 1
      let number = state.count
      let stream = updates.do(onDispose: { [weak self] in self?.remove(number, of: key) }).share(replay: 1)
      state.streams[key] = Shared(number: number, stream: stream)
      return stream
    }
  }

  /// Forgets a stream that nobody follows any more, unless another has taken its place.
  private func remove(_ number: Int, of key: Key) {
    state.withLock { if $0.streams[key]?.number == number { $0.streams[key] = nil } }
  }
}
