import Dispatch
import Platform
import Streams

/// Reads a stream a few blocks ahead of the socket, in a task of its own; the task is suspended while there is enough.
final class UploadStream: Sendable {
  enum Next {
    case bytes(Data)
    case waiting
    case end
    case failed(any Error)
    /// The stream can be read once, and was read.
    case usedUp
  }

  private let mailbox: Mailbox
  private let task: Task<Void, Never>?

  /// Begins to read. `whenReady` is called after each ``next()`` that had to wait, on any thread.
  init(_ stream: HTTPUpload.Stream, whenReady: @escaping @Sendable () -> Void) {
    let mailbox = Mailbox(whenReady: whenReady)
    self.mailbox = mailbox
    // Not on behalf of a task that may await the response.
    task = stream.open().map { reading in
      Task.detached {
        do {
          try await reading { try await mailbox.put($0) }
          mailbox.end(.success(()))
        } catch {
          mailbox.end(.failure(error))
        }
      }
    }
  }

  deinit {
    mailbox.stop()
    guard let task else { return }
    // This may be under a lock, and a handler of cancellation is the user's.
    DispatchQueue.global().async { task.cancel() }
  }

  /// All that has been read, or what there is in its place.
  func next() -> Next { task == nil ? .usedUp : mailbox.next() }

  private final class Mailbox: Sendable {
    private struct State {
      var pieces: [Data] = []
      var count = 0
      var outcome: Result<Void, any Error>?
      /// Whether somebody waits for bytes.
      var isAwaited = false
      /// The task, while there is enough.
      var waiter: CheckedContinuation<Void, Never>?
      var isStopped = false

      /// Whether somebody has waited, who is to be notified.
      mutating func endWait() -> Bool {
        defer { isAwaited = false }
        return isAwaited
      }
    }

    /// How many bytes are read ahead.
    private static let limit = 256 << 10

    private let whenReady: @Sendable () -> Void
    private let state = Locked(State())

    init(whenReady: @escaping @Sendable () -> Void) {
      self.whenReady = whenReady
    }

    func put(_ piece: Data) async throws {
      guard !piece.isEmpty else { return }
      let isAwaited = state.withLock { state in
        state.pieces.append(piece)
        state.count += piece.count
        return state.endWait()
      }
      if isAwaited { whenReady() }
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          guard state.count >= Self.limit, !state.isStopped else { return false }
          state.waiter = continuation
          return true
        }
        if !mustWait { continuation.resume() }
      }
      if state.withLock({ $0.isStopped }) { throw CancellationError() }
    }

    func end(_ outcome: Result<Void, any Error>) {
      let isAwaited = state.withLock { state in
        state.outcome = outcome
        return state.endWait()
      }
      if isAwaited { whenReady() }
    }

    func next() -> Next {
      let (pieces, outcome, waiter) = state.withLock { state in
        let taken = (exchange(&state.pieces, with: []), state.outcome, state.waiter.take())
        state.count = 0
        state.isAwaited = taken.0.isEmpty && taken.1 == nil
        return taken
      }
      waiter?.resume()
      if let first = pieces.first { return .bytes(pieces.dropFirst().reduce(into: first) { $0.append($1) }) }
      switch outcome {
      case .success: return .end
      case .failure(let error): return .failed(error)
      case nil: return .waiting
      }
    }

    func stop() {
      let waiter = state.withLock { state in
        state.isStopped = true
        return state.waiter.take()
      }
      waiter?.resume()
    }
  }
}
