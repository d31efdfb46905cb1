/// How long the last look-ups of names took, of the last few thousand names.
struct NameRecord {
  /// What is to be expected of a name.
  enum Kind: CaseIterable {
    /// Its last look-up was answered, if only by an error.
    case answered
    /// It was not looked up before, or not lately.
    case unknown
    /// A look-up of it hangs, or its last one did.
    case hanging

    /// How many look-ups of such names may run at once, without and with the slow ones. Names that hang are looked up
    /// as unknown ones at first.
    var places: (quick: Int, all: Int) {
      switch self {
      case .answered: (16, 64)
      case .unknown: (32, 256)
      case .hanging: (16, 64)
      }
    }
  }

  /// How long a look-up takes at most that does not count as hanging.
  private static let longest = Duration.seconds(2)
  /// How long a name that hung counts as one: it may have been the network, not the name.
  private static let memory = Duration.seconds(30)
  private static let size = 2048

  /// Until when a name counts as hanging; `nil` if it was answered.
  private typealias Table = [String: Instant?]
  /// When one table is full, it becomes the older one, and that is dropped.
  private var recent = Table()
  private var older = Table()

  mutating func note(_ host: String, took time: Duration, at now: Instant) {
    if recent.count >= Self.size { (recent, older) = ([:], recent) }
    recent.updateValue(time > Self.longest ? now + Self.memory : nil, forKey: host)
  }

  func kind(of host: String, at now: Instant) -> Kind {
    guard let record = recent[host] ?? older[host] else { return .unknown }
    guard let until = record else { return .answered }
    return now < until ? .hanging : .unknown
  }
}
