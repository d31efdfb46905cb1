/// The one timer of an operator, and the serializer of its firing and the operator's events. It ends with the segment.
///
/// An operator that moves its due time on need not set it again: it looks at the time when it fires, and may set it then.
/// `@unchecked Sendable`: `action` is set, and `timeout` calls `fire` a first time, before another thread knows of it; from then
/// on all is touched inside the serializer.
final class Timer: Serializer, @unchecked Sendable {
  var action: @Sendable () -> Void = {}
  private let scheduler: any Scheduler
  private let job = Slot()
  private var isSet = false

  init(_ lifetime: Lifetime, _ scheduler: any Scheduler) {
    self.scheduler = scheduler
    super.init(lifetime)
  }

  /// Ends with the segment from now on: at once where that is closed already, so `action` has to be there.
  func attach() {
    lifetime.add(self)
    lifetime.add(job)
  }

  override func release() { action = {} }

  /// Runs `action` at `time`, or when it is set to fire already.
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
