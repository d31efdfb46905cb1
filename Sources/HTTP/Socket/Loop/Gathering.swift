/// Batches responses when many exchanges are under way, so that one wake-up of the loop, and of each thread that it
/// wakes, serves several of them. This pays if a server responds one by one: for a short response, waking a thread each
/// time takes as long as everything else.
///
/// The pause is a quarter of the shortest time that a response has taken since its request was sent, and at most
/// `longest`.
struct Gathering {
  static let longest = Duration.milliseconds(1)
  /// A shorter pause costs more than it saves.
  private static let shortest = Duration.microseconds(50)
  /// With fewer exchanges under way nothing is gained.
  private static let fewest = 8

  private var quickest: Duration?

  /// Records how long a response took, and how many exchanges were under way.
  mutating func noteAnswer(after time: Duration, of underWay: Int) {
    quickest = underWay < Self.fewest ? .zero : min(quickest ?? time, time)
  }

  /// How long to pause, judging by the responses since the last call; `nil` for no pause.
  mutating func takePause() -> Duration? {
    guard let quickest else { return nil }
    self.quickest = nil
    if quickest < Self.shortest { return nil }
    let pause = min(quickest / 4, Self.longest)
    return pause < Self.shortest ? nil : pause
  }
}
