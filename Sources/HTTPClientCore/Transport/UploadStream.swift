import Dispatch
import Streams
import SystemBase

/// Reads a stream a few blocks ahead of the socket, in a task of its own; the task is suspended while there is enough.
final class UploadStream: Sendable {
  private let mailbox: UploadMailbox
  private let task: Task<Void, Never>?

  /// Begins to read. `whenReady` is called after each ``next()`` that had to wait, on any thread.
  init(_ stream: HTTPUpload.Stream, whenReady: @escaping @Sendable () -> Void) {
    let mailbox = UploadMailbox(whenReady: whenReady)
    self.mailbox = mailbox
    // Not on behalf of a task that may await the response.
    task = stream.open().map { reading in
      Task.detached {
        do {
          try await reading { piece in
            mailbox.put(piece)
            await withCheckedContinuation { continuation in
              if !mailbox.isFull({ continuation.resume() }) { continuation.resume() }
            }
            if mailbox.isStopped { throw CancellationError() }
          }
          mailbox.end(.success(()))
        } catch {
          // Described here, and not where the connection reads, which no code of the user's may hold up.
          let message = "The stream of the body failed: \("\(error)".sanitized(upTo: 500))"
          mailbox.end(.failure(RequestError(.cannotRead, message, cause: error, reached: .maybe)))
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
  func next() -> UploadNext { task == nil ? .usedUp : mailbox.next() }
}
