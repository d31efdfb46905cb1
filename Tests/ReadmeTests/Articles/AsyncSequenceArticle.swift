// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import Models
import Repository
import Streams

enum AsyncSequenceArticle {
  typealias Line = String

  static func convert(
    repository: MomentsRepo, id: String, watched: Observable<Int>, render: (Int) -> Void,
    lines: some AsyncSequence<Line, any Error> & Sendable
  ) async throws -> (MomentsDetails, Observable<Line>) {
    // One element of a stream, in a task. Cancelling the task disposes the stream.
    let details = try await repository.getMoments(userID: id).value

    // All of them. Leaving the loop disposes.
    for try await snapshot in watched.values(bufferingPolicy: .bufferingNewest(1)) {
      render(snapshot)
    }

    // A sequence as a stream. Disposing cancels the task.
    let stream = Observable<Line>.create { observer in
      let task = Task {
        do {
          if Task.isCancelled { return }
          for try await line in lines {
            observer.onNext(line)
            if Task.isCancelled { return }
          }
          observer.onCompleted()
        } catch {
          observer.onError(error)
        }
      }
      return Disposables.create { task.cancel() }
    }
    return (details, stream)
  }
}
