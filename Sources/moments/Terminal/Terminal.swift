import Foundation

/// What is known of where the results go.
struct Terminal: Equatable, Sendable {
  /// The width, in columns.
  let columns: Int

  let style: Style

  /// Decides from what the system and the environment say.
  ///
  /// - Parameters:
  ///   - isTerminal: Whether the results go to a terminal, and not to a file or pipe.
  ///   - reportedColumns: The width that the terminal reports, where it does.
  ///   - environment: `COLUMNS` is the width where none is reported, else it is 80; `NO_COLOR`, where it is not
  ///     empty (https://no-color.org), and `TERM=dumb` turn colours off.
  init(isTerminal: Bool, reportedColumns: Int?, environment: [String: String]) {
    let isWidth = { (columns: Int) in columns > 0 }
    columns = reportedColumns.filter(isWidth) ?? environment["COLUMNS"].flatMap { Int($0) }.filter(isWidth) ?? 80
    let isRefused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
    style = Style(isColored: isTerminal && !isRefused && environment["TERM"] != "dumb")
  }

  /// Asks about an open file.
  init(descriptor: Int32, environment: [String: String]) {
    let isTerminal = isatty(descriptor) == 1
    var size = winsize()
    let isSized = isTerminal && ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
    self.init(
      isTerminal: isTerminal, reportedColumns: isSized ? Int(size.ws_col) : nil, environment: environment)
  }
}

extension Optional {
  fileprivate func filter(_ isKept: (Wrapped) -> Bool) -> Wrapped? { flatMap { isKept($0) ? $0 : nil } }
}
