import Streams
import SystemBase

/// The outcome of asking a source of bytes, which never blocks.
enum UploadNext {
  case bytes(Data)
  case waiting
  case end
  case failed(any Error)
  /// The source can be read once, and was read.
  case usedUp
}

/// Stands between the reader of an upload's source, some bytes ahead, and the connection that sends them.
final class UploadMailbox: Sendable {
  private struct State {
    var pieces: [Data] = []
    var count = 0
    var outcome: Result<Void, any Error>?
    /// Whether the connection waits for bytes.
    var isAwaited = false
    /// Called when there is room again.
    var whenRoom: (@Sendable () -> Void)?
    var isStopped = false

    /// Whether the connection has waited, and is to be notified.
    mutating func endWait() -> Bool {
      defer { isAwaited = false }
      return isAwaited
    }
  }

  /// How many bytes are read ahead.
  static let limit = 256 << 10

  private let whenReady: @Sendable () -> Void
  private let state = Locked(State())

  /// `whenReady` is called after each ``next()`` that had to wait, on any thread.
  init(whenReady: @escaping @Sendable () -> Void) {
    self.whenReady = whenReady
  }

  // MARK: - For the reader

  /// Whether nobody wants any more.
  var isStopped: Bool { state.withLock { $0.isStopped } }

  func put(_ piece: Data) {
    guard !piece.isEmpty else { return }
    let isAwaited = state.withLock { state in
      state.pieces.append(piece)
      state.count += piece.count
      return state.endWait()
    }
    if isAwaited { whenReady() }
  }

  /// Returns whether there is no room; then calls a closure once there is, or nobody wants any more, on a thread that must
  /// not block.
  func isFull(_ whenRoom: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      guard state.count >= Self.limit, !state.isStopped else { return false }
      state.whenRoom = whenRoom
      return true
    }
  }

  func end(_ outcome: Result<Void, any Error>) {
    let isAwaited = state.withLock { state in
      state.outcome = outcome
      return state.endWait()
    }
    if isAwaited { whenReady() }
  }

  // MARK: - For the connection

  /// All that has been read, or what there is in its place.
  func next() -> UploadNext {
    let (pieces, outcome, whenRoom) = state.withLock { state in
      let taken = (exchange(&state.pieces, with: []), state.outcome, state.whenRoom.take())
      state.count = 0
      state.isAwaited = taken.0.isEmpty && taken.1 == nil
      return taken
    }
    whenRoom?()
    if let first = pieces.first { return .bytes(pieces.dropFirst().reduce(into: first) { $0.append($1) }) }
    switch outcome {
    case .success: return .end
    case .failure(let error): return .failed(error)
    case nil: return .waiting
    }
  }

  func stop() {
    let whenRoom = state.withLock { state in
      state.isStopped = true
      return state.whenRoom.take()
    }
    whenRoom?()
  }
}
