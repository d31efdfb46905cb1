public import Platform

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

extension Date {
  /// Reads a date in one of the three forms of RFC 9110, section 5.6.7.
  package init?(httpDate text: String) {
    let words = text.split { " ,-:".contains($0) }.map(String.init)
    let fields: (day: String, month: String, year: String, time: ArraySlice<String>)
    switch words.count {
    case 8 where words[7] == "GMT":  // Sun, 06 Nov 1994 08:49:37 GMT or Sunday, 06-Nov-94 08:49:37 GMT
      fields = (words[1], words[2], words[3], words[4...6])
    case 7:  // Sun Nov  6 08:49:37 1994
      fields = (words[2], words[1], words[6], words[3...5])
    default: return nil
    }
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let time = fields.time.compactMap { UInt8($0) }.map(Int.init)
    guard let month = months.firstIndex(of: fields.month), let day = UInt8(fields.day), var year = UInt16(fields.year),
      time.count == 3, (1...31).contains(day), time[0] < 24, time[1] < 60, time[2] <= 60
    else { return nil }
    // A year of two digits is taken as one from 1970 to 2069.
    if year < 100 { year += year < 70 ? 2000 : 1900 }
    // Days since 1970 by the civil calendar, with years that begin in March, so that the leap day comes last.
    let shifted = (Int(year) * 12 + month - 2)
    let (marchYear, marchMonth) = (shifted / 12, shifted % 12)
    let days = marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + (marchMonth * 153 + 2) / 5
    let seconds = ((days + Int(day) - 719_469) * 24 + time[0]) * 3600 + time[1] * 60 + time[2]
    self.init(timeIntervalSince1970: Double(seconds))
  }
}
