/// How something ended.
public enum RequestOutcome: Sendable {
  /// With the whole answer, whatever its status.
  case succeeded
  /// With an error.
  case failed(RequestError)
  /// Nobody waited for the end.
  case cancelled

  /// One word for logs and the labels of metrics: `succeeded`, `cancelled`, or the error's kind.
  public var label: String {
    switch self {
    case .succeeded: "succeeded"
    case .failed(let error): error.kind.description
    case .cancelled: "cancelled"
    }
  }
}
