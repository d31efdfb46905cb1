/// The only timer of an operator, which also serializes the operator's events and its own firing. It ends with the
/// segment.
///
/// An operator that moves its due time later need not set the timer again: its action compares the times, and may set
/// it then.
///
/// `@unchecked Sendable`: `action` is set, and `timeout` and `deadline` call `fire` a first time, before another thread
/// knows of the timer; after that, everything is touched inside the serializer.
final class Timer: Serializer, @unchecked Sendable {
  var action: @Sendable () -> Void = {}
  private let scheduler: any Scheduler
  private let job = Slot()
  private var isSet = false

  init(_ lifetime: Lifetime, _ scheduler: any Scheduler) {
    self.scheduler = scheduler
    super.init(lifetime)
  }

  /// Ties the timer to the segment. If that is closed already, the timer ends at once, so `action` must be set before.
  func attach() {
    lifetime.add(self)
    lifetime.add(job)
  }

  override func release() { action = {} }

  /// Runs `action` at `time`, or at the time for which the timer is already set.
  func fire(at time: Duration) {
    if isSet { return }
    isSet = true
    job.set(scheduler.schedule(after: time - scheduler.now) { self.send(()) { self.fired() } })
  }

  private func fired() {
    isSet = false
    action()
  }
}
