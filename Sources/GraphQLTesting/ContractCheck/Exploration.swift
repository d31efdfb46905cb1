import GraphQLSchema
import JSON

/// What a server is free to choose, explored one alternative at a time.
///
/// The first response has the usual option everywhere. Each alternative of each choice then gets a response of its own,
/// in which everything else is as it was in the response where the choice was first met: so a choice below another type
/// of object is explored, too. The number of responses is that of the alternatives, and one more. What fails only together
/// is found by responses in which everything is chosen at random, if some are wanted.
final class Exploration: Chooser {
  /// What one response is made by.
  struct Pass {
    fileprivate var options: [Int: Int] = [:]
    fileprivate var words: [(choice: Int, text: String)] = []
    /// Whether the schema of today does not have what is chosen.
    fileprivate(set) var isFuture = false

    /// What differs from the usual, in words.
    var conditions: String? { words.isEmpty ? nil : words.map(\.text).joined(separator: " and ") }

    /// The same, but for one thing that is as usual again; one for each that is not.
    var simpler: [Pass] {
      words.map { word in
        var pass = self
        pass.options[word.choice] = nil
        pass.words.removeAll { $0.choice == word.choice }
        return pass
      }
    }

    fileprivate mutating func choose(_ option: Int, of choice: Int, _ text: String) {
      options[choice] = option
      if option > 0 { words.append((choice, text)) }
    }
  }

  /// The numbers of the choices that were met.
  private var numbers: [Key: Int] = [:]
  private var usualFlags: [String: Bool] = [:]
  private var waiting: [Pass] = [Pass()]
  private var next = 0
  /// What the response is made by that is being made.
  private(set) var pass = Pass()
  private var random: SplitMix?

  private enum Key: Hashable {
    case null(ObjectIdentifier)
    case length(ObjectIdentifier)
    case type(ObjectIdentifier)
    case value(ObjectIdentifier)
    case variable(String)
  }

  /// Begins the next response; `nil` if all have been made.
  func nextPass() -> Pass? {
    guard next < waiting.count else { return nil }
    pass = waiting[next]
    next += 1
    return pass
  }

  /// Begins a response that is made by given choices.
  func begin(_ pass: Pass) {
    self.pass = pass
    random = nil
  }

  /// Begins a response in which everything is chosen at random, but nothing from the future.
  func beginRandom(seed: UInt64) {
    pass = Pass()
    random = SplitMix(seed: seed)
  }

  func choose(_ choice: Choice, at place: Place) -> Int {
    guard choice.count > 1 else { return 0 }
    let id = ObjectIdentifier(place)
    switch choice {
    case .null:
      return option(of: .null(id), count: 2, condition: { _ in "\(place.path) is null" })
    case .type(let names):
      return option(
        of: .type(id), count: names.count, condition: { "\(place.path) is of type \(names[$0])" },
        isFuture: { $0 == names.count - 1 })
    case .value(let values):
      return option(
        of: .value(id), count: values.count,
        condition: { "\(place.path) is \(values[$0].stringValue ?? values[$0].text)" },
        isFuture: { values[$0] == .string(ScalarSamples.futureValue) })
    }
  }

  func length(at place: Place) -> Int {
    let lengths = [1, 0, 2]
    return lengths[
      option(of: .length(ObjectIdentifier(place)), count: lengths.count) { "\(place.path) has \(lengths[$0]) items" }]
  }

  func flag(_ variable: String, usually: Bool) -> Bool {
    // A variable may stand in `@include` and in `@skip`; what it usually is, the first of them says.
    let usual = usualFlags[variable] ?? usually
    usualFlags[variable] = usual
    let option = option(of: .variable(variable), count: 2) { "$\(variable) is \(($0 == 0) == usual)" }
    return (option == 0) == usual
  }

  private func option(
    of key: Key, count: Int, condition: (Int) -> String, isFuture: (Int) -> Bool = { _ in false }
  ) -> Int {
    let known = numbers[key]
    let number = known ?? numbers.count
    numbers[key] = number
    if let option = pass.options[number] { return option }
    if random != nil { return randomOption(number, count, condition, isFuture) }
    guard known == nil else { return 0 }
    for option in 1..<count {
      var alternative = pass
      alternative.choose(option, of: number, condition(option))
      alternative.isFuture = pass.isFuture || isFuture(option)
      waiting.append(alternative)
    }
    return 0
  }

  /// The usual option half of the time.
  private func randomOption(
    _ number: Int, _ count: Int, _ condition: (Int) -> String, _ isFuture: (Int) -> Bool
  ) -> Int {
    guard var generator = random else { return 0 }
    var option = Bool.random(using: &generator) ? 0 : Int.random(in: 0..<count, using: &generator)
    if isFuture(option) { option = 0 }
    random = generator
    pass.choose(option, of: number, condition(option))
    return option
  }
}
