/// Lets answers gather where many are under way, so that one wake of the loop, and one of the threads that it wakes,
/// serves several. It pays where a server answers one by one: waking for each takes as long as all else for a short answer.
///
/// An answer is held up by a quarter of the time that one has taken since its request was sent, and by `longest` at most.
struct Gathering {
  static let longest = Duration.milliseconds(1)
  /// A shorter pause costs more than it saves.
  private static let shortest = Duration.microseconds(50)
  /// With fewer under way nothing is gained.
  private static let fewest = 8

  private var quickest: Duration?

  /// Takes note of an answer that came after a time, one of so many under way.
  mutating func noteAnswer(after time: Duration, of underWay: Int) {
    quickest = underWay < Self.fewest ? .zero : min(quickest ?? time, time)
  }

  /// How long to pause, by what has come since the last call.
  mutating func takePause() -> Duration? {
    guard let quickest else { return nil }
    self.quickest = nil
    if quickest < Self.shortest { return nil }
    let pause = min(quickest / 4, Self.longest)
    return pause < Self.shortest ? nil : pause
  }
}
