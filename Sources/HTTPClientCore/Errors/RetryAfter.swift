public import SystemBase

extension HTTPResponseHead {
  /// How long the server asks to wait, by `Retry-After` in seconds or as a date (RFC 9110, section 10.2.3); `nil` if it
  /// does not, or if the value is neither, such as `1.5`. A date in the past gives zero.
  ///
  /// A date is compared with the server's own `Date`, if there is one, so that a difference between the clocks does not
  /// matter; otherwise with `now`.
  public func retryAfter(now: @autoclosure () -> Date) -> Duration? {
    guard let value = headers.values(of: "Retry-After").first, !value.isEmpty else { return nil }
    if value.utf8.allSatisfy(\.isDigit) {
      return .seconds(Int(value) ?? .max / 2)
    }
    guard let date = Date(httpDate: value) else { return nil }
    return .seconds(max(date.timeIntervalSince(headers.serverDate ?? now()), 0))
  }
}

extension HTTPHeaders {
  /// When the server sent the response, by its own clock; `nil` if it does not say so.
  package var serverDate: Date? { values(of: "Date").first.flatMap { Date(httpDate: $0) } }
}
