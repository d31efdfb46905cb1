/// How a request or an attempt ended.
public enum RequestOutcome: Sendable {
  /// The whole response arrived, whatever its status.
  case succeeded
  /// It failed with an error.
  case failed(RequestError)
  /// It was cancelled.
  case cancelled

  /// Whether a deadline passed.
  var isTimeOver: Bool { if case .failed(let error) = self { error.kind == .timedOut } else { false } }

  /// A label for logs and metrics: `succeeded`, `cancelled`, or the name of the error's kind.
  public var label: String {
    switch self {
    case .succeeded: "succeeded"
    case .failed(let error): error.kind.description
    case .cancelled: "cancelled"
    }
  }
}
