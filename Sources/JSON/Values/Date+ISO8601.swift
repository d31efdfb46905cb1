public import Foundation

extension Date {
  /// Reads an ISO 8601 date in the form of RFC 3339, section 5.6: `2026-01-31T12:00:00Z`,
  /// `2026-01-31T12:00:00.123456+05:30`. Of a fraction, the first 6 digits count. `nil` for anything else, and for a
  /// date that its offset moves out of the years 0 to 9999 in UTC.
  public init?(iso8601 text: String) {
    var reader = DateReader(text)
    guard let year = reader.digits(4), reader.take("-"),
      let month = reader.digits(2), (1...12).contains(month), reader.take("-"),
      let day = reader.digits(2), (1...31).contains(day), reader.take("T") || reader.take("t") || reader.take(" "),
      let hour = reader.digits(2), hour < 24, reader.take(":"),
      let minute = reader.digits(2), minute < 60, reader.take(":"),
      let second = reader.digits(2), second <= 60,
      let microsecond = reader.microsecond(),
      let offset = reader.offset(), reader.isAtEnd
    else { return nil }
    let days = CivilDay(year: year, month: month, day: day)
    guard day <= days.daysInMonth else { return nil }
    let seconds = days.sinceEpoch * 86400 + hour * 3600 + minute * 60 + second - offset
    // A leap second at the end of the year 9999 is still of that year.
    guard Self.seconds.contains(second == 60 ? seconds - 1 : seconds) else { return nil }
    self.init(seconds: seconds, microsecond: microsecond)
  }

  /// The date in UTC, with a fraction of 6 digits unless it is zero: `2026-01-31T12:00:00.500000Z`. A date that was
  /// read is read back as the same. `nil` for a date outside the years 0 to 9999, which RFC 3339 cannot express.
  public var iso8601: String? {
    let whole = timeIntervalSince1970.rounded(.down)
    guard whole >= Double(Self.seconds.lowerBound), whole < Double(Self.seconds.upperBound) else { return nil }
    let nearest = Int(((timeIntervalSince1970 - whole) * 1e6).rounded())
    // Where a `Date` is as coarse as a microsecond, the nearest one may be read as a neighbour of this date.
    let others = [nearest, nearest - 1, nearest + 1]
    let microsecond = others.first { Date(seconds: Int(whole), microsecond: $0) == self } ?? nearest
    let (carry, fraction) = microsecond.quotientAndRemainderRoundingDown(dividingBy: 1_000_000)
    let (days, second) = (Int(whole) + carry).quotientAndRemainderRoundingDown(dividingBy: 86400)
    let day = CivilDay(sinceEpoch: days)
    return day.year.digits(4) + "-" + day.month.digits(2) + "-" + day.day.digits(2) + "T" + (second / 3600).digits(2)
      + ":" + (second / 60 % 60).digits(2) + ":" + (second % 60).digits(2)
      + (fraction > 0 ? "." + fraction.digits(6) : "") + "Z"
  }

  /// The seconds since 1970 of the years 0 to 9999.
  private static let seconds = -62_167_219_200..<253_402_300_800

  /// So late, a `Date` has steps of 30 microseconds: the last ones of the year 9999 would be rounded to the next year.
  private init(seconds: Int, microsecond: Int) {
    let time = Double(seconds) + Double(microsecond) / 1e6
    self.init(timeIntervalSince1970: min(time, Double(Self.seconds.upperBound).nextDown))
  }
}

extension Int {
  /// The number, padded with leading zeros to `count` digits.
  fileprivate func digits(_ count: Int) -> String {
    let digits = String(self)
    return String(repeating: "0", count: count - digits.count) + digits
  }
}
