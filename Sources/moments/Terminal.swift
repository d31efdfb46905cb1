import CommandLineBase
import SystemBase

/// The properties of the output: its width and style.
struct Terminal: Equatable, Sendable {
  /// The width, in columns.
  let columns: Int

  /// The height, in rows; `nil` if the output is not a terminal, or does not tell.
  let rows: Int?

  let style: Style

  /// Derives them from the system and the environment.
  ///
  /// - Parameters:
  ///   - isTerminal: Whether the output is a terminal, and not a file or pipe.
  ///   - reportedColumns: The width that the terminal reports, if any.
  ///   - reportedRows: The height that it reports, if any.
  ///   - environment: `COLUMNS` is the width if none is reported; without either, it is 80. See ``Style``, too.
  init(isTerminal: Bool, reportedColumns: Int?, reportedRows: Int? = nil, environment: [String: String]) {
    let isWidth = { (columns: Int) in columns > 0 }
    columns = reportedColumns.filter(isWidth) ?? environment["COLUMNS"].flatMap { Int($0) }.filter(isWidth) ?? 80
    rows = reportedRows.filter { isTerminal && $0 > 0 && environment["TERM"] != "dumb" }
    style = Style(isTerminal: isTerminal, environment: environment)
  }

  /// Derives them from an open file.
  init(descriptor: Int32, environment: [String: String]) {
    let isTerminal = isatty(descriptor) == 1
    var size = winsize()
    let isSized = isTerminal && ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
    self.init(
      isTerminal: isTerminal, reportedColumns: isSized ? Int(size.ws_col) : nil,
      reportedRows: isSized ? Int(size.ws_row) : nil, environment: environment)
  }
}

extension Terminal {
  /// Writes lines over what the screen shows: the cursor goes home, each line is erased before it is written, and behind
  /// the last one everything is (ECMA-48, sections 8.3.21, 8.3.41 and 8.3.39). The screen is never empty in between.
  ///
  /// Erasing the rest of a line behind its text would take the last character of one that is as wide as the screen.
  static func redraw(_ lines: some Sequence<some StringProtocol>) -> String {
    "\u{1B}[H" + lines.map { "\u{1B}[K\($0)\n" }.joined() + "\u{1B}[J"
  }

  /// Writes a text over what the screen shows, as far as it fits without scrolling; a last line says how much does not.
  static func redraw(_ text: String, rows: Int, style: Style) -> String {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    while lines.last == "" { lines.removeLast() }
    // The line behind the last one is the cursor's.
    let room = max(rows - 1, 1)
    if lines.count > room {
      let shown = lines.prefix(room - 1)
      lines = shown + [style.paint("… \(counted(lines.count - shown.count, "more line"))", .dim)]
    }
    return redraw(lines)
  }
}

extension Optional {
  fileprivate func filter(_ isKept: (Wrapped) -> Bool) -> Wrapped? { flatMap { isKept($0) ? $0 : nil } }
}
