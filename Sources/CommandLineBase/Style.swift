/// Colours and weights for a terminal, or none at all.
package struct Style: Equatable, Sendable {
  /// A colour or weight: a parameter of Select Graphic Rendition (ECMA-48, section 8.3.117).
  package enum Ink: String, Sendable {
    case bold = "1"
    case dim = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case cyan = "36"
  }

  /// Whether to write escape sequences.
  package let isColored: Bool

  package init(isColored: Bool) { self.isColored = isColored }

  /// Takes whether the output is a terminal, and the environment: a `NO_COLOR` that is not empty (https://no-color.org), or
  /// `TERM=dumb`, turns colours off.
  package init(isTerminal: Bool, environment: [String: String]) {
    let isRefused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
    isColored = isTerminal && !isRefused && environment["TERM"] != "dumb"
  }

  /// The text between the escape sequences that paint it.
  package func paint(_ text: String, _ ink: Ink) -> String {
    isColored && !text.isEmpty ? "\u{1B}[\(ink.rawValue)m\(text)\u{1B}[0m" : text
  }
}
