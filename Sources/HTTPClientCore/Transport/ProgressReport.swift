import Dispatch
import Streams
import SystemBase

/// Counts the bytes of one exchange, and reports the progress, one call at a time. Progress during a call is reported
/// by the next one, so nothing piles up in front of a slow callback.
package final class ProgressReport: Sendable {
  private struct State {
    var progress: HTTPProgress
    var isDue = false
  }

  private let queue = DispatchQueue(label: "HTTPRequest.onProgress")
  private let report: @Sendable (HTTPProgress) -> Void
  private let state: Locked<State>

  package init(_ report: @escaping @Sendable (HTTPProgress) -> Void, totalToSend: Int?) {
    self.report = report
    state = Locked(State(progress: HTTPProgress(totalToSend: totalToSend)))
  }

  /// Records how many bytes of the request's body have been sent.
  package func didSend(_ count: Int) {
    record { progress in
      guard count > progress.sent else { return false }
      progress.sent = count
      return true
    }
  }

  /// Records a part of the response, before its content codings are removed.
  package func didReceive(_ part: HTTPResponsePart) {
    switch part {
    case .head(let head):
      let length = head.headers["Content-Length"].flatMap { Int($0) }
      record { progress in
        progress.totalToReceive = length
        return true
      }
    case .body(let piece):
      record { progress in
        progress.received += piece.count
        return true
      }
    case .trailers: break
    }
  }

  /// Applies a change, which returns whether there is anything to report.
  private func record(_ change: (inout HTTPProgress) -> Bool) {
    let isFirst = state.withLock { state in
      guard change(&state.progress) else { return false }
      defer { state.isDue = true }
      return !state.isDue
    }
    guard isFirst else { return }
    queue.async { [self] in
      report(
        state.withLock { state in
          state.isDue = false
          return state.progress
        })
    }
  }
}
