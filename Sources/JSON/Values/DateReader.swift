/// Reads the parts of a date from the front of a string.
struct DateReader {
  private var rest: Substring.UTF8View

  init(_ text: String) {
    rest = Substring(text).utf8
  }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  mutating func digits(_ count: Int) -> Int? {
    let digits = rest.prefix(count)
    guard digits.count == count, digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
    rest.removeFirst(count)
    return digits.reduce(0) { $0 * 10 + Int($1 - 48) }
  }

  /// The fraction of a second in microseconds: of any number of digits, the first six count.
  mutating func microsecond() -> Int? {
    guard take(".") || take(",") else { return 0 }
    let all = rest.prefix { (48...57).contains($0) }.count
    let count = min(all, 6)
    guard count > 0, let value = digits(count) else { return nil }
    rest.removeFirst(all - count)
    return value * [100_000, 10_000, 1000, 100, 10, 1][count - 1]
  }

  /// The offset from UTC, in seconds east.
  mutating func offset() -> Int? {
    if take("Z") || take("z") { return 0 }
    let sign = take("+") ? 1 : take("-") ? -1 : 0
    guard sign != 0, let hours = digits(2), hours < 24, take(":"), let minutes = digits(2), minutes < 60 else {
      return nil
    }
    return sign * (hours * 3600 + minutes * 60)
  }
}
