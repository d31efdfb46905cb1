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
    // Days since 1970 by the civil calendar, with the year starting in March so that a leap day is its last.
    let shifted = month > 2 ? year : year - 1
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let era = shifted / 400
    let yearOfEra = shifted - era * 400
    let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    guard day <= Self.daysIn(month: month, year: year) else { return nil }
    let seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset
    self.init(timeIntervalSince1970: Double(seconds) + fraction)
  }

  /// The date in UTC, with 6 digits of a fraction where it has one: `2026-01-31T12:00:00.500000Z`. `nil` for a date
  /// outside the years 0 to 9999, which RFC 3339 cannot write.
  public var iso8601: String? {
    guard (-62_167_219_200..<253_402_300_799).contains(timeIntervalSince1970) else { return nil }
    var seconds = timeIntervalSince1970.rounded(.down)
    var microseconds = Int(((timeIntervalSince1970 - seconds) * 1e6).rounded())
    if microseconds == 1_000_000 { (seconds, microseconds) = (seconds + 1, 0) }
    let text = Date(timeIntervalSince1970: seconds).formatted(.iso8601)
    guard microseconds > 0 else { return text }
    let digits = String(microseconds)
    return text.dropLast() + "." + String(repeating: "0", count: 6 - digits.count) + digits + "Z"
  }

  private static func daysIn(month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

/// Takes the parts of a date off the front of a text.
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
