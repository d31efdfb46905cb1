/// Counts the calls and failures of the recent past, in tenths of the window.
struct CallWindow: Sendable {
  private struct Part {
    var number: Int64 = -1
    var calls = 0
    var failures = 0
  }

  private let length: Duration
  private var parts = Array(repeating: Part(), count: 10)

  init(_ window: Duration) {
    length = max(window, .milliseconds(10)) / 10
  }

  mutating func count(isFailure: Bool, at now: Duration) {
    let number = number(of: now)
    let index = Int(number % 10)
    if parts[index].number != number { parts[index] = Part(number: number) }
    parts[index].calls += 1
    if isFailure { parts[index].failures += 1 }
  }

  func totals(at now: Duration) -> (calls: Int, failures: Int) {
    let number = number(of: now)
    return parts.reduce((0, 0)) { total, part in
      number - 10 < part.number && part.number <= number ? (total.0 + part.calls, total.1 + part.failures) : total
    }
  }

  private func number(of time: Duration) -> Int64 { Int64(max(time, .zero) / length) }
}
