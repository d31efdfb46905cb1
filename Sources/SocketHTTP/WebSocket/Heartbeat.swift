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
