import HTTPClientCore
import Streams
import SystemBase

/// The way to an observer that is waited for. It is called by the thread that brings an event, or by the connection's
/// worker, one at a time, and outside of the connection's work: so a subscription can end, and timers fire, while its
/// observer blocks.
final class LiveOutlet: Sendable {
  private struct State {
    var backlog = LiveBacklog<Data>(.fail(values: .max, bytes: .max))
    var end: (any Error)??
    var isDelivering = false
    var isOver = false
    /// What waits until the observer has taken what came before.
    var held: [(intake: LiveIntake, size: Int)] = []
  }

  private enum Step {
    case next(LiveEvent<Data>)
    case end((any Error)?)
    case none
  }

  private let observer: AnyObserver<LiveEvent<Data>>
  private let cancellation: @Sendable () -> RequestError?
  private let state = Locked(State())

  /// `cancellation` is asked before each event: if it has an error, that ends the outlet in place of what waits.
  init(_ observer: AnyObserver<LiveEvent<Data>>, cancellation: @escaping @Sendable () -> RequestError?) {
    self.observer = observer
    self.cancellation = cancellation
  }

  func append(_ event: LiveEvent<Data>) {
    state.withLock { state in
      if !state.isOver { _ = state.backlog.append(event) }
    }
  }

  func end(_ error: (any Error)?) {
    let dropped = state.withLock { state -> LiveBacklog<Data>? in
      guard (error as? RequestError)?.kind == .cancelled else {
        state.end = state.end ?? .some(error)
        return nil
      }
      state.end = .some(error)
      return exchange(&state.backlog, with: LiveBacklog(.fail(values: .max, bytes: .max)))
    }
    withExtendedLifetime(dropped) {}
  }

  /// Holds back what a connection may read until the observer has taken all that was appended. Returns false if it has.
  func hold(_ intake: LiveIntake, _ size: Int) -> Bool {
    state.withLock { state in
      guard !state.isOver, state.isDelivering || !state.backlog.isEmpty else { return false }
      state.held.append((intake, size))
      return true
    }
  }

  /// Delivers what waits, unless another thread does.
  func deliver() {
    guard state.withLock({ exchange(&$0.isDelivering, with: true) == false }) else { return }
    while true {
      if let error = cancellation() { end(error) }
      let (step, held) = state.withLock { state in Self.next(&state) }
      for (intake, size) in held { intake.remove(size) }
      switch step {
      case .next(let event): observer.onNext(event)
      case .end(let error?): return observer.onError(error)
      case .end(nil): return observer.onCompleted()
      case .none: return
      }
    }
  }

  private static func next(_ state: inout State) -> (Step, [(intake: LiveIntake, size: Int)]) {
    if !state.isOver, let event = state.backlog.popFirst() { return (.next(event), []) }
    state.isDelivering = false
    let held = exchange(&state.held, with: [])
    guard !state.isOver, let end = state.end else { return (.none, held) }
    state.isOver = true
    return (.end(end), held)
  }

  /// Drops what waits; what was held back may be read.
  func dispose() {
    let (backlog, held) = state.withLock { state in
      state.isOver = true
      return (
        exchange(&state.backlog, with: LiveBacklog(.fail(values: .max, bytes: .max))), exchange(&state.held, with: [])
      )
    }
    withExtendedLifetime(backlog) {}
    for (intake, size) in held { intake.remove(size) }
  }
}
