import GraphQLSchema
import StrictJSON

/// What a server is free to choose, explored one alternative at a time.
///
/// The first response has the usual option everywhere. Each alternative of each choice then gets a response of its own,
/// in which everything else is as it was in the response where the choice was first met: so a choice below another type
/// of object is explored, too. The number of responses is that of the alternatives, and one more.
final class Exploration: Chooser {
  /// What one response is made by.
  struct Pass {
    /// Its number among the responses.
    fileprivate(set) var number = 0
    fileprivate var options: [Int: Int] = [:]
    fileprivate var words: [String] = []
    /// Whether the schema of today does not have what is chosen.
    fileprivate(set) var isFuture = false
    /// What it differs in from an earlier response, if that is a value of one place alone.
    fileprivate(set) var difference: Difference?

    /// What differs from the usual, in words.
    var conditions: String? { words.isEmpty ? nil : words.joined(separator: " and ") }

    fileprivate mutating func choose(_ option: Int, of choice: Int, _ text: String) {
      options[choice] = option
      if option > 0 { words.append(text) }
    }
  }

  /// A value in the place of another one.
  struct Difference {
    /// The number of the earlier response.
    let base: Int
    let place: Place
    /// The value as JSON.
    let value: String
  }

  /// The numbers of the choices that were met.
  private var numbers: [Key: Int] = [:]
  private var usualFlags: [String: Bool] = [:]
  private var waiting: [Pass] = [Pass()]
  private var next = 0
  /// What the response is made by that is being made.
  private(set) var pass = Pass()

  private enum Key: Hashable {
    case null(ObjectIdentifier, isLater: Bool)
    case length(ObjectIdentifier)
    case type(ObjectIdentifier, isLater: Bool)
    case value(ObjectIdentifier, isLater: Bool)
    case variable(String)
    case arrival(String)
  }

  /// Begins the next response; `nil` if all have been made.
  func nextPass() -> Pass? {
    guard next < waiting.count else { return nil }
    pass = waiting[next]
    next += 1
    return pass
  }

  /// What the response of a number is made by.
  func pass(_ number: Int) -> Pass { waiting[number] }

  /// Begins a response that is made by given choices.
  func begin(_ pass: Pass) {
    self.pass = pass
  }

  func choose(_ choice: Choice, at place: Place, isLater: Bool) -> Int {
    guard choice.count > 1 else { return 0 }
    let id = ObjectIdentifier(place)
    let path = { () -> String in
      isLater && place.path.hasSuffix("[]") ? String(place.path.dropLast(2)) + "[1]" : place.path
    }
    switch choice {
    case .null:
      return option(
        of: .null(id, isLater: isLater), count: 2, condition: { _ in "\(path()) is null" },
        value: { _ in isLater ? nil : (place, "null") })
    case .type(let names):
      return option(
        of: .type(id, isLater: isLater), count: names.count, condition: { "\(path()) is of type \(names[$0])" },
        isFuture: { $0 == names.count - 1 })
    case .value(let values):
      return option(
        of: .value(id, isLater: isLater), count: values.count,
        condition: { "\(path()) is \(Self.shown(values[$0]))" },
        isFuture: { values[$0] == .string(ScalarSamples.futureValue) },
        value: { isLater || path().contains("[]") ? nil : (place, values[$0].text) })
    }
  }

  private static func shown(_ value: JSONValue) -> String {
    guard let text = value.stringValue else { return value.text }
    return text.isEmpty ? "empty" : text
  }

  func length(at place: Place) -> Int {
    let lengths = [1, 0, 2]
    return lengths[
      option(
        of: .length(ObjectIdentifier(place)), count: lengths.count,
        condition: { "\(place.path) has \(lengths[$0]) items" }, value: { lengths[$0] == 0 ? (place, "[]") : nil })]
  }

  func flag(_ variable: String, usually: Bool) -> Bool {
    // A variable may stand in `@include` and in `@skip`; what it usually is, the first of them says.
    let usual = usualFlags[variable] ?? usually
    usualFlags[variable] = usual
    let option = option(of: .variable(variable), count: 2) { "$\(variable) is \(($0 == 0) == usual)" }
    return (option == 0) == usual
  }

  func hasArrived(_ fragment: String) -> Bool {
    option(of: .arrival(fragment), count: 2) { _ in "the deferred fragment at \(fragment) has not arrived" } == 0
  }

  /// - Parameter value: The value that an option puts into one place, if that is all that it changes.
  private func option(
    of key: Key, count: Int, condition: (Int) -> String, isFuture: (Int) -> Bool = { _ in false },
    value: (Int) -> (Place, String)? = { _ in nil }
  ) -> Int {
    let known = numbers[key]
    let number = known ?? numbers.count
    numbers[key] = number
    if let option = pass.options[number] { return option }
    guard known == nil else { return 0 }
    for option in 1..<count where waiting.count <= SessionCheck.responseLimit {
      var alternative = pass
      alternative.choose(option, of: number, condition(option))
      alternative.number = waiting.count
      alternative.isFuture = pass.isFuture || isFuture(option)
      alternative.difference = value(option).map { place, text in
        Difference(base: pass.number, place: place, value: text)
      }
      waiting.append(alternative)
    }
    return 0
  }
}
