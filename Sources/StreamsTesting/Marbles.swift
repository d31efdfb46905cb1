import Streams

/// A stream as a line of text, one character for each frame of time.
///
/// | character | meaning |
/// |---|---|
/// | `-` | nothing, for one frame |
/// | a letter or digit | an element, in its frame |
/// | `\|` | completion |
/// | `#` | an error |
/// | `(ab\|)` | several events in one frame; the whole group takes one frame |
/// | space | ignored; for alignment |
///
///     --a-b|        a at frame 2, b at frame 4, completed at frame 5
public struct Marbles<Element: Sendable>: Sendable {
  /// The events, in order.
  public let events: [Recorded<Element>]

  /// The events of `line`; `values` maps its letters and digits to elements.
  /// - Precondition: `line` is well-formed, with nothing after its end, and `values` contains all of its letters and
  ///   digits.
  public init(
    _ line: String, values: [Character: Element], error: any Error = MarbleError(), frame: Duration = .seconds(1)
  ) {
    do {
      try self.init(parsing: line, values: values, error: error, frame: frame)
    } catch {
      preconditionFailure(error.description)
    }
  }

  init(
    parsing line: String, values: [Character: Element], error: any Error, frame: Duration
  ) throws(MarbleFault) {
    var events: [Recorded<Element>] = []
    var time = Duration.zero
    var (isInGroup, isEnded) = (false, false)
    func require(_ condition: Bool, _ fault: String) throws(MarbleFault) {
      if !condition { throw MarbleFault(description: "\(fault): \(line)") }
    }
    func append(_ event: Event<Element>) throws(MarbleFault) {
      try require(!isEnded, "something comes after the end")
      events.append(Recorded(time, event))
    }
    for character in line {
      switch character {
      case " ": continue
      case "-": try require(!isInGroup, "a group holds no frames")
      case "(":
        try require(!isInGroup, "a group holds no group")
        isInGroup = true
      case ")":
        try require(isInGroup, "a group is closed that was not opened")
        isInGroup = false
      case "|", "#":
        try append(character == "|" ? .completed : .error(error))
        isEnded = true
      default:
        guard let element = values[character] else {
          throw MarbleFault(description: "no value for \(character): \(line)")
        }
        try append(.next(element))
      }
      if !isInGroup { time += frame }
    }
    try require(!isInGroup, "a group is not closed")
    self.events = events
  }
}

extension Marbles where Element == String {
  /// The events of `line`; each element is its own character.
  public init(_ line: String, error: any Error = MarbleError(), frame: Duration = .seconds(1)) {
    let values = Dictionary(line.map { ($0, String($0)) }, uniquingKeysWith: { first, _ in first })
    self.init(line, values: values, error: error, frame: frame)
  }
}

/// The line of `events`; `name` gives the character of an element. An event between two frames is shown in the earlier
/// one. More than 100 frames without an event are shown as their number: `a…(3600)…b`.
func marbleLine<Element>(
  _ events: [Recorded<Element>], frame: Duration, name: (Element) -> Character
) -> String {
  var line = ""
  var position = 0
  var rest = events[...]
  while let first = rest.first {
    let place = frameNumber(of: first.time, frame)
    let pause = max(0, place - position)
    line += pause > 100 ? "…(\(pause))…" : String(repeating: "-", count: pause)
    let group = rest.prefix { frameNumber(of: $0.time, frame) == place }
    rest = rest.dropFirst(group.count)
    let symbols = group.map { recorded -> Character in
      switch recorded.event {
      case .next(let element): name(element)
      case .error: "#"
      case .completed: "|"
      }
    }
    line += symbols.count == 1 ? String(symbols) : "(\(String(symbols)))"
    position = place + 1
  }
  return line
}

/// The number of the frame that `time` is in; at most 2⁶², so that another one may follow.
private func frameNumber(of time: Duration, _ frame: Duration) -> Int {
  Int(min(time.attoseconds / frame.attoseconds, 1 << 62))
}

/// The default error of `#` in a marble string.
public struct MarbleError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Makes the error.
  public init() {}

  /// `MarbleError`.
  public var description: String { "MarbleError" }
}

extension Marbles: Equatable where Element: Equatable {}

/// What is wrong with a marble string.
struct MarbleFault: Error {
  let description: String
}
