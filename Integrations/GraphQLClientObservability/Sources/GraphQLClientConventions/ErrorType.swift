package import HTTPClientCore

extension RequestError {
  /// OpenTelemetry's `error.type`: the status if that is what is wrong, or else the kind, such as `connection_lost`. The
  /// values are few, since kinds are named in code.
  package var errorType: String {
    if kind == .httpStatus, let status { return "\(status)" }
    return kind.description.lowercased().replacing(" ", with: "_")
  }
}

extension RequestSummary {
  /// OpenTelemetry's `error.type`; `nil` for a request that succeeded.
  package var errorType: String? {
    switch outcome {
    case .succeeded: nil
    case .failed(let error): error.errorType
    case .cancelled: "cancelled"
    }
  }
}

extension AttemptSummary {
  /// OpenTelemetry's `error.type`: also the status of a response that says no; `nil` for an attempt that succeeded.
  package var errorType: String? {
    switch outcome {
    case .succeeded: status.flatMap { $0 >= 400 ? "\($0)" : nil }
    case .failed(let error): error.errorType
    case .cancelled: "cancelled"
    }
  }
}
