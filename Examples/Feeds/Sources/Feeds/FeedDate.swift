import Foundation

extension Date {
  /// A date of RSS (RFC 822, section 5), such as `Wed, 02 Oct 2002 13:00:00 GMT`. The weekday and the seconds may be
  /// missing, and a year may have two digits: up to 49 they are of this century (RFC 2822, section 4.3).
  init?(rfc822 text: String) {
    var words = text.split { $0.isWhitespace || $0 == "," }
    if let first = words.first, first.first?.isLetter == true { words.removeFirst() }
    guard words.count >= 5, let day = Int(words[0]), let year = Self.year(words[2]),
      let month = Self.months.firstIndex(of: words[1].prefix(3).lowercased()),
      let zone = Self.secondsFromGMT(words[4])
    else { return nil }
    let time = words[3].split(separator: ":", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
    guard time.count == 2 || time.count == 3 else { return nil }
    let parts = DateComponents(
      year: year, month: month + 1, day: day, hour: time[0], minute: time[1], second: time.count == 3 ? time[2] : 0)
    // A leap second is the first one of the next minute.
    guard (0...23).contains(time[0]), (0...59).contains(time[1]), (0...60).contains(parts.second ?? 0),
      (1...31).contains(day), let date = Self.calendar.date(from: parts),
      Self.calendar.component(.day, from: date) == day || parts.second == 60
    else { return nil }
    self = date - Double(zone)
  }

  /// A date of Atom (RFC 3339), such as `2003-12-13T18:30:02Z`.
  init?(rfc3339 text: String) {
    let whole = try? Date(text, strategy: .iso8601)
    let parsed = try? whole ?? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    guard let parsed else { return nil }
    self = parsed
  }

  private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

  /// Made once: to make one for each date takes longer than all else.
  private static let calendar: Calendar = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    return calendar
  }()

  private static func year(_ digits: Substring) -> Int? {
    guard let year = Int(digits), year >= 0 else { return nil }
    switch digits.count {
    case 2: return year + (year < 50 ? 2000 : 1900)
    case 4: return year
    default: return nil
    }
  }

  private static func secondsFromGMT(_ zone: Substring) -> Int? {
    let hours = [
      "GMT": 0, "UT": 0, "UTC": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8,
      "PDT": -7,
    ]
    if let hours = hours[zone.uppercased()] { return hours * 3600 }
    guard zone.count == 5, let sign = zone.first, sign == "+" || sign == "-", let digits = Int(zone.dropFirst()),
      digits >= 0, digits % 100 < 60
    else { return nil }
    return (sign == "-" ? -1 : 1) * (digits / 100 * 3600 + digits % 100 * 60)
  }
}
