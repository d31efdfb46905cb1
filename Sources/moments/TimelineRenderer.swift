import CommandLineBase
import HTTPClientCore
import Models

/// Renders timelines and moments for people, as lines that fit a terminal.
///
/// A pure function of its arguments. Text from the server is made safe before it is measured and coloured.
struct TimelineRenderer {
  let style: Style

  /// Unix time in seconds.
  let now: Int64

  private let columns: Int

  /// Longer lines are hard to read, and shorter ones have too little room.
  private static let columnRange = 20...100
  private static let titleLines = 4
  private static let addressLines = 4
  private static let photoLimit = 4
  private static let scalarLimit = 4_000

  init(columns: Int, style: Style, now: Int64) {
    self.columns = min(max(columns, Self.columnRange.lowerBound), Self.columnRange.upperBound)
    self.style = style
    self.now = now
  }

  /// The owner's name, then each moment; each line ends with a line break.
  func timeline(_ details: MomentsDetails) -> String {
    let owner = details.userDetails
    let count = details.moments.isEmpty ? "no moments yet" : counted(details.moments.count, "moment")
    let header = row(Span(owner.name.isEmpty ? owner.id : owner.name, .bold), Span(count, .dim))
    let rule = style.paint(String(repeating: "─", count: columns), .dim)
    return text(header + [rule]) + details.moments.map { "\n" + moment($0) }.joined()
  }

  /// One moment; each line ends with a line break.
  func moment(_ moment: MomentsDetails.Moment) -> String {
    text(lines(of: moment))
  }

  /// Server text made safe, cut to the most that could be shown.
  private static func safe(_ text: String) -> String {
    String(text.unicodeScalars.prefix(scalarLimit)).sanitized()
  }

  private func text(_ lines: [String]) -> String {
    lines.map { $0 + "\n" }.joined()
  }

  private func lines(of moment: MomentsDetails.Moment) -> [String] {
    let age = Age.words(createdDate: moment.createdDate, now: now) ?? String(moment.createdDate.prefix(20))
    let head = row(Span(moment.userDetails.name, .bold), Span("\(label(of: moment)) · \(age)", .dim))
    let title = Self.safe(moment.title ?? "").wrapped(toColumns: columns, lineLimit: Self.titleLines)
    let foot = row(likes(of: moment), Span(moment.id, .dim))
    return head + title + addresses(of: moment) + foot
  }

  private func label(of moment: MomentsDetails.Moment) -> String {
    switch moment.type {
    case .url: "link"
    case .photos: moment.photos.count == 1 ? "photo" : "photos"
    case .unknown(let name): String(name.prefix(20))
    }
  }

  private func addresses(of moment: MomentsDetails.Moment) -> [String] {
    let all = (moment.url.map { [$0] } ?? []) + moment.photos
    let shown = all.count > Self.photoLimit ? all.prefix(Self.photoLimit - 1) : all[...]
    let lines = shown.flatMap { Self.safe($0).wrapped(toColumns: columns - 2, lineLimit: Self.addressLines) }
      .map { "  " + style.paint($0, .cyan) }
    let hidden = all.count - shown.count
    return hidden > 0 ? lines + ["  " + style.paint("and \(hidden) more", .dim)] : lines
  }

  private func likes(of moment: MomentsDetails.Moment) -> Span {
    guard moment.likes != nil || moment.isLiked != nil else { return Span("", .dim) }
    let heart = moment.isLiked == true ? "♥" : "♡"
    let count = moment.likes.map { $0.isEmpty ? " no likes" : " " + counted($0.count, "like") } ?? ""
    return Span(heart + count, moment.isLiked == true ? .red : .dim)
  }
}

extension TimelineRenderer {
  /// Safe text, to be coloured once it is fitted.
  private struct Span {
    let text: String
    let ink: Style.Ink

    init(_ text: String, _ ink: Style.Ink) {
      self.text = TimelineRenderer.safe(text)
      self.ink = ink
    }
  }

  /// A line with one text at the left and one at the right.
  ///
  /// If both do not fit, the left one is truncated, or, if little of it would remain, each gets its own line.
  private func row(_ left: Span, _ right: Span) -> [String] {
    let room = columns - right.text.columns - 2
    guard left.text.columns <= room || room >= columns * 3 / 5 else {
      return [left, right].filter { !$0.text.isEmpty }.map { paint($0, columns: columns) }
    }
    let gap = columns - left.text.truncated(toColumns: room).columns - right.text.columns
    return [paint(left, columns: room) + String(repeating: " ", count: gap) + paint(right, columns: columns)]
  }

  private func paint(_ span: Span, columns: Int) -> String {
    style.paint(span.text.truncated(toColumns: columns), span.ink)
  }
}

/// How long ago a moment was posted, in words.
enum Age {
  private static let units: [(name: String, seconds: Int64)] = [
    ("year", 365 * 86_400), ("month", 30 * 86_400), ("week", 7 * 86_400),
    ("day", 86_400), ("hour", 3_600), ("minute", 60),
  ]

  /// How far a server's clock may be ahead of this machine's, in seconds.
  private static let skew: Int64 = 300

  /// From this number on, a time is taken for milliseconds; and the last second of the year 9999.
  private static let (milliseconds, last): (Int64, Int64) = (100_000_000_000, 253_402_300_799)

  /// Words such as "3 days ago" or "in 3 days"; `nil` if the text is not a time.
  ///
  /// - Parameters:
  ///   - createdDate: Unix time in decimal digits, in seconds or, as some servers send it, milliseconds.
  ///   - now: Unix time in seconds.
  static func words(createdDate: String, now: Int64) -> String? {
    guard var created = Int64(createdDate), created > -last else { return nil }
    if created >= milliseconds { created /= 1_000 }
    guard created <= last else { return nil }
    let seconds = now - created
    return seconds < -skew ? "in \(largestUnits(in: -seconds) ?? "")" : words(seconds: seconds)
  }

  /// Words such as "3 days ago" for an elapsed time.
  static func words(_ duration: Duration) -> String { words(seconds: duration.components.seconds) }

  private static func words(seconds: Int64) -> String {
    largestUnits(in: seconds).map { "\($0) ago" } ?? "just now"
  }

  /// The time in the largest unit that fits, or `nil` for less than a minute.
  private static func largestUnits(in seconds: Int64) -> String? {
    units.first { seconds >= $0.seconds }.map { counted(seconds / $0.seconds, $0.name) }
  }
}

/// A number with its noun: "1 day", "3 days".
func counted(_ number: some BinaryInteger, _ noun: String) -> String {
  "\(number) \(noun)\(number == 1 ? "" : "s")"
}
