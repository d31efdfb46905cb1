import StreamsTesting
import Testing

@testable import moments

@Suite("the progress of a transfer")
struct ProgressBarTests {
  private func terminal(_ columns: Int, noColor: Bool = true) -> Terminal {
    Terminal(
      isTerminal: true, reportedColumns: columns, reportedRows: 24, environment: noColor ? ["NO_COLOR": "1"] : [:])
  }

  @Test func `the line says how much is done, at what rate, and what time is left`() {
    let line = ProgressBar.line("a.jpg", 3 << 20, of: 12 << 20, bytesPerSecond: 1.5 * 1_048_576, terminal(80))
    #expect(line.hasPrefix("a.jpg  ███"))
    #expect(line.hasSuffix("░  25%  3.0 MiB of 12.0 MiB  1.5 MiB/s  6 s left"))
    let end = ProgressBar.line("a.jpg", 5, of: 5, bytesPerSecond: 2, terminal(80))
    #expect(end.hasSuffix("█  100%  5 B of 5 B  2 B/s"))
    let begin = ProgressBar.line("a.jpg", 0, of: 5, bytesPerSecond: nil, terminal(80))
    #expect(begin.hasSuffix("░  0%  0 B of 5 B"))
    let empty = ProgressBar.line("a.jpg", 0, of: 0, bytesPerSecond: nil, terminal(80))
    #expect(empty.hasSuffix("█  100%  0 B of 0 B"))
  }

  @Test(arguments: [(59.2, "1:00"), (59.0, "59 s"), (3_599, "59:59"), (36_062, "10:01:02"), (1e9, "99:59:59")])
  func `the time left is in minutes and hours where it is long`(seconds: Double, words: String) {
    let total = 1_000_000_000_000
    let line = ProgressBar.line("a", 0, of: total, bytesPerSecond: Double(total) / seconds, terminal(100))
    #expect(line.hasSuffix("\(words) left"))
  }

  @Test(arguments: 1...120)
  func `the line fits the terminal, and leaves its last column free`(columns: Int) {
    for name in ["a", "a name that is too long for any line of a terminal.jpeg", "早安早安早安早安早安.jpg"] {
      let line = ProgressBar.line(name, 700, of: 1 << 40, bytesPerSecond: 9e5, terminal(columns))
      #expect(line.columns < columns || columns == 1 && line.columns <= 1)
    }
  }

  @Test func `colours are left out where they are not wanted`() {
    #expect(!ProgressBar.line("a", 1, of: 2, bytesPerSecond: 1, terminal(80)).contains("\u{1B}"))
    #expect(ProgressBar.line("a", 1, of: 2, bytesPerSecond: 1, terminal(80, noColor: false)).contains("\u{1B}[36m█"))
  }

  @Test(arguments: [
    (0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (102_400, "100 KiB"), (1_048_064, "1.0 MiB"),
    (1_048_063, "1023 KiB"), (5 << 30, "5.0 GiB"), (Int.max, "8192 PiB"),
  ])
  func `sizes have binary prefixes`(count: Int, words: String) {
    #expect(ByteCount.words(count) == words)
  }

  @Test func `the rate is that of the last seconds, and unknown at first`() {
    var rate = TransferRate(start: .zero)
    rate.record(500, at: .milliseconds(200))
    #expect(rate.bytesPerSecond == nil)
    for tenth in 3...100 { rate.record(tenth * 1_000, at: .milliseconds(tenth * 100)) }
    #expect(rate.bytesPerSecond == 10_000)
    // It stands still from then on.
    for tenth in 101...160 { rate.record(100_000, at: .milliseconds(tenth * 100)) }
    #expect(rate.bytesPerSecond == 0)
  }

  @Test func `the rate counts from the beginning again if the transfer does`() {
    var rate = TransferRate(start: .zero)
    rate.record(9_000_000, at: .seconds(1))
    rate.record(0, at: .seconds(2))
    rate.record(1_000, at: .seconds(3))
    #expect(rate.bytesPerSecond == 1_000)
  }
}
