public import Foundation

extension Date {
  /// Reads a date of ISO 8601 in the form of RFC 3339, section 5.6, with up to 6 digits of a fraction:
  /// `2026-01-31T12:00:00Z`, `2026-01-31T12:00:00.123456+05:30`. `nil` for anything else.
  public init?(iso8601 text: String) {
    var reader = DateReader(text)
    guard let year = reader.digits(4), reader.take("-"),
      let month = reader.digits(2), (1...12).contains(month), reader.take("-"),
      let day = reader.digits(2), (1...31).contains(day), reader.take("T") || reader.take("t") || reader.take(" "),
      let hour = reader.digits(2), hour < 24, reader.take(":"),
      let minute = reader.digits(2), minute < 60, reader.take(":"),
      let second = reader.digits(2), second <= 60,
      let fraction = reader.fraction(),
      let offset = reader.offset(), reader.isAtEnd
    else { return nil }
    let days = CivilDay(year: year, month: month, day: day)
    guard day <= days.daysInMonth else { return nil }
    let seconds = days.sinceEpoch * 86400 + hour * 3600 + minute * 60 + second - offset
    self.init(timeIntervalSince1970: Double(seconds) + fraction)
  }

  /// The date in UTC, with 6 digits of a fraction where it has one: `2026-01-31T12:00:00.500000Z`. `nil` for a date
  /// outside the years 0 to 9999, which RFC 3339 cannot write.
  public var iso8601: String? {
    let microseconds = (timeIntervalSince1970 * 1e6).rounded()
    guard (-62_167_219_200e6..<253_402_300_800e6).contains(microseconds) else { return nil }
    let (seconds, fraction) = Int(microseconds).quotientAndRemainderRoundingDown(dividingBy: 1_000_000)
    let (days, second) = seconds.quotientAndRemainderRoundingDown(dividingBy: 86400)
    let day = CivilDay(sinceEpoch: days)
    return day.year.digits(4) + "-" + day.month.digits(2) + "-" + day.day.digits(2) + "T" + (second / 3600).digits(2)
      + ":" + (second / 60 % 60).digits(2) + ":" + (second % 60).digits(2)
      + (fraction > 0 ? "." + fraction.digits(6) : "") + "Z"
  }
}

/// A day of the Gregorian calendar, also of the years before it was in use, as ISO 8601 has it.
private struct CivilDay {
  let year: Int
  let month: Int
  let day: Int

  // 400 years, from the first of March on so that a leap day is the last of its year, have always as many days.
  private static let daysOfEra = 146_097
  private static let epoch = 719_468

  init(year: Int, month: Int, day: Int) {
    self.year = year
    self.month = month
    self.day = day
  }

  init(sinceEpoch days: Int) {
    let (era, dayOfEra) = (days + Self.epoch).quotientAndRemainderRoundingDown(dividingBy: Self.daysOfEra)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    year = era * 400 + yearOfEra + (month > 2 ? 0 : 1)
  }

  /// Days since the first of January 1970.
  var sinceEpoch: Int {
    let (era, yearOfEra) = (month > 2 ? year : year - 1).quotientAndRemainderRoundingDown(dividingBy: 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * Self.daysOfEra + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - Self.epoch
  }

  var daysInMonth: Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension Int {
  fileprivate func quotientAndRemainderRoundingDown(dividingBy divisor: Int) -> (quotient: Int, remainder: Int) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  /// The number with zeros in front, as so many digits.
  fileprivate func digits(_ count: Int) -> String {
    let digits = String(self)
    return String(repeating: "0", count: count - digits.count) + digits
  }
}

/// Takes the parts of a date off the front of a string.
private struct DateReader {
  private var rest: Substring.UTF8View

  init(_ text: String) {
    rest = Substring(text).utf8
  }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  mutating func digits(_ count: Int) -> Int? {
    let digits = rest.prefix(count)
    guard digits.count == count, digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
    rest.removeFirst(count)
    return digits.reduce(0) { $0 * 10 + Int($1 - 48) }
  }

  mutating func fraction() -> Double? {
    guard take(".") || take(",") else { return 0 }
    let count = rest.prefix { (48...57).contains($0) }.count
    guard (1...6).contains(count), let value = digits(count) else { return nil }
    return Double(value) / [10, 100, 1e3, 1e4, 1e5, 1e6][count - 1]
  }

  /// Seconds east of UTC.
  mutating func offset() -> Int? {
    if take("Z") || take("z") { return 0 }
    let sign = take("+") ? 1 : take("-") ? -1 : 0
    guard sign != 0, let hours = digits(2), hours < 24, take(":"), let minutes = digits(2), minutes < 60 else {
      return nil
    }
    return sign * (hours * 3600 + minutes * 60)
  }
}
