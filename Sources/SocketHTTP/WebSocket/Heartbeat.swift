import HTTPClientCore
import Streams

/// Tells when to send a ping, and when a server that does not answer is given up: pure, so that it can be tested without
/// a clock.
struct Heartbeat {
  enum Step: Equatable {
    /// Look again then.
    case wait(until: Instant)
    /// Send a ping, and look again then.
    case ping(until: Instant)
    case lost
  }

  private let silence: Duration
  private let patience: Duration
  /// When the ping was sent that has not been answered.
  private var pingTime: Instant?

  /// Takes the silence after which to ping, and how long to wait for a sign of life then.
  init(after silence: Duration, patience: Duration) {
    self.silence = silence
    self.patience = patience
  }

  /// What to do now, if the last sign of life came at `lastSign`.
  mutating func look(at now: Instant, lastSign: Instant) -> Step {
    if let pingTime, lastSign < pingTime {
      return now < pingTime + patience ? .wait(until: pingTime + patience) : .lost
    }
    pingTime = nil
    guard now >= lastSign + silence else { return .wait(until: lastSign + silence) }
    pingTime = now
    return .ping(until: now + patience)
  }
}

/// Recognises a server's signs of life: frames, and what has arrived of a long one. A few bytes of one are none, or a server
/// could send them one by one, and would never be given up.
struct SignsOfLife {
  /// When the last one came.
  private(set) var last: Instant
  /// What has arrived since.
  private var count = 0

  /// How much of a frame is a sign: over any network that can be used, more than that comes in the time of a ping and its
  /// pong.
  static let leastPart = 1 << 10

  init(at now: Instant) {
    last = now
  }

  /// Records what has arrived, and returns whether it is a sign. `hasFrame` says that a frame has begun in it.
  mutating func add(_ size: Int, hasFrame: Bool, at now: Instant) -> Bool {
    count += size
    guard hasFrame || count >= Self.leastPart else { return false }
    excuse(at: now)
    return true
  }

  /// Counts the time until now as if there had been signs.
  mutating func excuse(at now: Instant) { (last, count) = (now, 0) }
}
