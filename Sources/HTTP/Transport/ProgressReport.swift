import Foundation

/// Counts the bytes of one exchange, and tells somebody, one call at a time and in order.
final class ProgressReport: @unchecked Sendable {
  // `progress` is touched on `queue` alone, which is serial.
  private let queue = DispatchQueue(label: "HTTPRequest.onProgress")
  private let report: @Sendable (HTTPProgress) -> Void
  private var progress: HTTPProgress

  init(_ report: @escaping @Sendable (HTTPProgress) -> Void, toSend: Int) {
    self.report = report
    progress = HTTPProgress(toSend: toSend)
  }

  /// Takes note of how many bytes of the request's body are sent.
  func didSend(_ count: Int) {
    queue.async { [self] in
      guard count > progress.sent else { return }
      progress.sent = count
      report(progress)
    }
  }

  /// Takes note of a part of the answer, before its codings are taken off.
  func didReceive(_ part: HTTPResponsePart) {
    queue.async { [self] in
      switch part {
      case .head(let head): progress.toReceive = head.headers["Content-Length"].flatMap { Int($0) }
      case .body(let piece): progress.received += piece.count
      }
      report(progress)
    }
  }
}
