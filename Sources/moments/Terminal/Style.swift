/// Colours and weights for a terminal, or none at all.
struct Style: Equatable, Sendable {
  /// A colour or weight: a parameter of Select Graphic Rendition (ECMA-48, section 8.3.117).
  enum Ink: String, Sendable {
    case bold = "1"
    case dim = "2"
    case red = "31"
    case cyan = "36"
  }

  /// Whether to write escape sequences.
  let isColored: Bool

  func paint(_ text: String, _ ink: Ink) -> String {
    isColored && !text.isEmpty ? "\u{1B}[\(ink.rawValue)m\(text)\u{1B}[0m" : text
  }
}
