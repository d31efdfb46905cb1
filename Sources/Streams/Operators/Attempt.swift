internal import Synchronization

/// The segment of a source whose error another stream follows.
///
/// A source that fails while it is being started, on this thread or another, has not said yet what is to be torn down.
/// What follows it then waits until the start is over.
///
/// `@unchecked Sendable`: `error` is written before `progress` says that the source has failed, and read after that.
@usableFromInline
final class Attempt: Segment, @unchecked Sendable {
  private enum Progress: UInt8, AtomicRepresentable {
    case starting, started, failed
  }

  private let progress = Atomic(Progress.starting)
  private var error: (any Error)?

  @usableFromInline override init() {}

  /// Says that the source has been started. Returns the error of one that has failed by then: its successor is the
  /// caller's to start.
  @usableFromInline func started() -> (any Error)? {
    progress.exchange(.started, ordering: .acquiringAndReleasing) == .failed ? error : nil
  }

  /// Says that the source has failed, and returns whether it was started before: if so, its successor is the caller's
  /// to start.
  @usableFromInline func hasStarted(beforeFailing error: any Error) -> Bool {
    self.error = error
    return progress.exchange(.failed, ordering: .acquiringAndReleasing) == .started
  }
}
