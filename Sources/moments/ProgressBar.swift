import CommandLineBase
import HTTPClientCore
import Streams
import Synchronization

/// The progress of a transfer on one line of a terminal, drawn in place: how much of it is done, at what rate, and how
/// long the rest takes. Draws nothing where the output is no terminal.
final class ProgressBar: Sendable {
  private let name: String
  private let output: Output
  private let terminal: Terminal
  private let clock: any Scheduler
  private let state: Mutex<State>

  private struct State {
    var rate: TransferRate
    var drawnAt: Duration?
    var isOver = false
  }

  /// The time between two drawings.
  private static let interval = Duration.milliseconds(100)

  init(_ name: String, on output: Output, _ terminal: Terminal, clock: some Scheduler = ConcurrentScheduler()) {
    self.name = name.sanitized(upTo: 200)
    self.output = output
    self.terminal = terminal
    self.clock = clock
    state = Mutex(State(rate: TransferRate(start: clock.now)))
  }

  /// Draws the progress, unless it was drawn a moment ago.
  func show(_ count: Int, of total: Int) {
    guard terminal.rows != nil else { return }
    // Written under the lock: after the end, nothing may follow.
    state.withLock { state in
      if state.isOver { return }
      let now = clock.now
      state.rate.record(count, at: now)
      if let drawnAt = state.drawnAt, now - drawnAt < Self.interval, count < total { return }
      state.drawnAt = now
      let line = Self.line(name, count, of: total, bytesPerSecond: state.rate.bytesPerSecond, terminal)
      try? output.write("\r\u{1B}[K\(line)")
    }
  }

  /// Erases the line, and draws no other.
  func end() {
    state.withLock { state in
      if state.drawnAt != nil, !state.isOver { try? output.write("\r\u{1B}[K") }
      state.isOver = true
    }
  }

  /// The line, which fits the terminal.
  static func line(
    _ name: String, _ count: Int, of total: Int, bytesPerSecond rate: Double?, _ terminal: Terminal
  ) -> String {
    let share = total > 0 ? min(Double(count) / Double(total), 1) : 1
    var facts = "\(Int(share * 100))%  \(ByteCount.words(count)) of \(ByteCount.words(total))"
    if let rate, rate >= 1 {
      facts += "  \(ByteCount.words(Int(rate)))/s"
      if count < total { facts += "  \(time(Double(total - count) / rate)) left" }
    }
    // The last column stays free: some terminals go to the next line once it is written.
    let columns = terminal.columns - 1
    let room = columns - facts.columns - 2
    guard room >= 8 else { return facts.truncated(toColumns: columns) }
    let label = name.truncated(toColumns: min(room / 2, 30))
    let width = min(room - label.columns - 2, 40)
    let filled = Int(share * Double(width))
    let bar =
      terminal.style.paint(String(repeating: "█", count: filled), .cyan)
      + terminal.style.paint(String(repeating: "░", count: width - filled), .dim)
    return "\(label)  \(bar)  \(facts)"
  }

  private static func time(_ seconds: Double) -> String {
    let seconds = Int(min(seconds.rounded(.up), 359_999))
    func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    switch seconds {
    case ..<60: return "\(seconds) s"
    case ..<3_600: return "\(seconds / 60):\(padded(seconds % 60))"
    default: return "\(seconds / 3_600):\(padded(seconds / 60 % 60)):\(padded(seconds % 60))"
    }
  }
}

/// The rate of a transfer over its last few seconds.
struct TransferRate: Sendable {
  private var samples: [(time: Duration, count: Int)]

  private static let window = Duration.seconds(5)
  private static let sampleInterval = Duration.milliseconds(100)
  /// Before that, the rate would be that of the first buffers.
  private static let shortestTime = 0.3

  init(start: Duration) {
    samples = [(start, 0)]
  }

  mutating func record(_ count: Int, at time: Duration) {
    // A transfer that is begun again counts from there.
    if let last = samples.last, count < last.count { samples = [] }
    // The last sample moves on until it is far enough from the one before it.
    if samples.count > 1, time - samples[samples.count - 2].time < Self.sampleInterval { samples.removeLast() }
    samples.append((time, count))
    while samples.count > 2, time - samples[1].time >= Self.window { samples.removeFirst() }
  }

  /// `nil` while too little is known.
  var bytesPerSecond: Double? {
    guard let first = samples.first, let last = samples.last else { return nil }
    let seconds = (last.time - first.time) / .seconds(1)
    return seconds >= Self.shortestTime ? Double(last.count - first.count) / seconds : nil
  }
}

/// Sizes for people.
enum ByteCount {
  /// With binary prefixes (IEC 80000-13), and one digit behind the point below 100.
  static func words(_ count: Int) -> String {
    var (value, prefixes) = (Double(count), ["KiB", "MiB", "GiB", "TiB", "PiB"][...])
    guard value >= 1_024 else { return "\(count) B" }
    var unit = "B"
    while value >= 1_023.5, let next = prefixes.popFirst() { (value, unit) = (value / 1_024, next) }
    let tenths = Int((value * 10).rounded())
    return tenths < 1_000 ? "\(tenths / 10).\(tenths % 10) \(unit)" : "\(Int(value.rounded())) \(unit)"
  }
}
