package import SystemBase

extension Date {
  /// Reads a date in one of the three forms of RFC 9110, section 5.6.7. Letters may be in either case, as a cache should
  /// have it (RFC 9111, section 4.2); everything else has to be as the grammar says. `now` tells the century of a year
  /// of two digits: it is at most 50 years ahead.
  package init?(httpDate text: String, now: @autoclosure () -> Date = Date()) {
    var rest = HTTPDateReader(rest: text.utf8[...])
    guard let fields = rest.readFields(), rest.rest.isEmpty else { return nil }
    var year = fields.year
    var date = HTTPDateReader.days(year, fields.month, fields.day)
    if fields.hasShortYear {
      let limit = now().timeIntervalSince1970 + 50 * 365.2425 * 86_400
      let century = HTTPDateReader.year(at: limit) / 100 * 100
      year += century
      date = HTTPDateReader.days(year, fields.month, fields.day)
      if Double(date) * 86_400 + Double(fields.time) > limit {
        year -= 100
        date = HTTPDateReader.days(year, fields.month, fields.day)
      }
    }
    guard fields.day >= 1, fields.day <= HTTPDateReader.dayCount(of: fields.month, in: year) else { return nil }
    self.init(timeIntervalSince1970: Double(date * 86_400 + fields.time))
  }
}

/// Reads the parts of a date (RFC 9110, section 5.6.7).
private struct HTTPDateReader {
  struct Fields {
    var year: Int
    /// From 0 to 11.
    var month: Int
    var day: Int
    /// In seconds of the day.
    var time: Int
    var hasShortYear = false
  }

  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]
  private static let dayNames = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
  private static let longDayNames = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

  var rest: Substring.UTF8View

  mutating func readFields() -> Fields? {
    let name = readLetters()
    if Self.longDayNames.contains(name) {
      // Sunday, 06-Nov-94 08:49:37 GMT
      guard skip(", "), let day = readNumber(2), skip("-"), let month = readMonth(), skip("-"),
        let year = readNumber(2), skip(" "), let time = readTime(), skip(" gmt")
      else { return nil }
      return Fields(year: year, month: month, day: day, time: time, hasShortYear: true)
    }
    guard Self.dayNames.contains(name) else { return nil }
    if skip(", ") {
      // Sun, 06 Nov 1994 08:49:37 GMT
      guard let day = readNumber(2), skip(" "), let month = readMonth(), skip(" "), let year = readNumber(4), skip(" "),
        let time = readTime(), skip(" gmt")
      else { return nil }
      return Fields(year: year, month: month, day: day, time: time)
    }
    // Sun Nov  6 08:49:37 1994
    guard skip(" "), let month = readMonth(), skip(" "), let day = skip(" ") ? readNumber(1) : readNumber(2), skip(" "),
      let time = readTime(), skip(" "), let year = readNumber(4)
    else { return nil }
    return Fields(year: year, month: month, day: day, time: time)
  }

  private mutating func readTime() -> Int? {
    guard let hour = readNumber(2), hour < 24, skip(":"), let minute = readNumber(2), minute < 60, skip(":"),
      let second = readNumber(2), second <= 60  // A leap second.
    else { return nil }
    return (hour * 60 + minute) * 60 + second
  }

  private mutating func readMonth() -> Int? { Self.months.firstIndex(of: readLetters()) }

  /// The letters that follow, in lower case.
  private mutating func readLetters() -> String {
    let letters = rest.prefix { 0x61...0x7A ~= $0 | 0x20 }
    rest = rest[letters.endIndex...]
    return String(decoding: letters.map { $0 | 0x20 }, as: UTF8.self)
  }

  /// A number of exactly so many digits.
  private mutating func readNumber(_ count: Int) -> Int? {
    let digits = rest.prefix(count)
    guard digits.count == count, digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
    rest = rest[digits.endIndex...]
    return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  /// Skips a text, given in lower case, if it follows.
  private mutating func skip(_ text: StaticString) -> Bool {
    let found = text.withUTF8Buffer { text in
      rest.prefix(text.count).elementsEqual(text) { $0 == $1 || 0x61...0x7A ~= $1 && $0 | 0x20 == $1 }
    }
    if found { rest = rest.dropFirst(text.utf8CodeUnitCount) }
    return found
  }

  static func dayCount(of month: Int, in year: Int) -> Int {
    days(month == 11 ? year + 1 : year, (month + 1) % 12, 1) - days(year, month, 1)
  }

  /// The days since 1970, by the civil calendar, with years that begin in March, so that the leap day comes last.
  static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let shifted = year * 12 + month + 10
    let (marchYear, marchMonth) = (shifted / 12 - 1, shifted % 12)
    let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
    return marchYear * 365 + leapDays + (marchMonth * 153 + 2) / 5 + day - 719_469
  }

  static func year(at seconds: Double) -> Int {
    // 719,162 days before 1970 the year 1 began.
    Int((seconds / 86_400 + 719_162) / 365.2425) + 1
  }
}
