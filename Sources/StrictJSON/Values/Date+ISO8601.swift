public import SystemBase

extension Date {
  /// Reads an ISO 8601 date in the form of RFC 3339, section 5.6: `2026-01-31T12:00:00Z`,
  /// `2026-01-31T12:00:00.123456+05:30`. Of a fraction, the first 6 digits count. `nil` for anything else, and for a
  /// date that its offset moves out of the years 0 to 9999 in UTC.
  public init?(iso8601 text: String) {
    self.init(text, offsetIsOptional: false)
  }

  /// Reads what `Date(iso8601:)` reads, a date-time without an offset, as UTC, or a calendar date, as its first moment
  /// in UTC.
  init?(lenientISO8601 text: String) {
    if let date = Date(calendarDate: text) { self = date } else { self.init(text, offsetIsOptional: true) }
  }

  /// Reads a calendar date, such as `2026-01-31`, as its first moment in UTC.
  init?(calendarDate text: String) {
    guard text.utf8.count == 10 else { return nil }
    self.init(iso8601: text + "T00:00:00Z")
  }

  /// The calendar date in UTC; `nil` for a date outside the years 0 to 9999.
  var calendarDate: String? { iso8601.map { String($0.prefix(10)) } }

  private init?(_ text: String, offsetIsOptional: Bool) {
    var reader = DateReader(text)
    guard let year = reader.digits(4), reader.take("-"),
      let month = reader.digits(2), (1...12).contains(month), reader.take("-"),
      let day = reader.digits(2), (1...31).contains(day), reader.take("T") || reader.take("t") || reader.take(" "),
      let hour = reader.digits(2), hour < 24, reader.take(":"),
      let minute = reader.digits(2), minute < 60, reader.take(":"),
      let second = reader.digits(2), second <= 60,
      let microsecond = reader.microsecond(),
      let offset = offsetIsOptional && reader.isAtEnd ? 0 : reader.offset(), reader.isAtEnd
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

/// Reads the parts of a date from the front of a string.
struct DateReader {
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

  /// The fraction of a second in microseconds: of any number of digits, the first six count.
  mutating func microsecond() -> Int? {
    guard take(".") || take(",") else { return 0 }
    let all = rest.prefix { (48...57).contains($0) }.count
    let count = min(all, 6)
    guard count > 0, let value = digits(count) else { return nil }
    rest.removeFirst(all - count)
    return value * [100_000, 10_000, 1000, 100, 10, 1][count - 1]
  }

  /// The offset from UTC, in seconds east.
  mutating func offset() -> Int? {
    if take("Z") || take("z") { return 0 }
    let sign = take("+") ? 1 : take("-") ? -1 : 0
    guard sign != 0, let hours = digits(2), hours < 24, take(":"), let minutes = digits(2), minutes < 60 else {
      return nil
    }
    return sign * (hours * 3600 + minutes * 60)
  }
}

/// A day of the Gregorian calendar, extended to the years before its introduction, as in ISO 8601.
struct CivilDay {
  let year: Int
  let month: Int
  let day: Int

  // 400 years always have this many days. They begin on 1 March, so that a leap day is the last day of its year.
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

  /// Days since 1 January 1970.
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
  func quotientAndRemainderRoundingDown(dividingBy divisor: Int) -> (quotient: Int, remainder: Int) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
