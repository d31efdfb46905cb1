@preconcurrency internal import Dispatch

/// Runs work on a dispatch queue, one piece at a time and in order.
///
/// Not a serial queue that targets the other one: Dispatch would run all of its work, and what comes meanwhile, before
/// it lets other work of the target go on. Here each piece takes a turn of its own.
final class SerialQueue: WorkQueue {
  private let target: DispatchQueue
  private let state = Guarded((waiting: Fifo<@Sendable () -> Void>(), isBusy: false))

  init(target: DispatchQueue) { self.target = target }

  func submit(_ work: @escaping @Sendable () -> Void) {
    let isFirst = state.withLock { state in
      state.waiting.append(work)
      return exchange(&state.isBusy, with: true) == false
    }
    if isFirst { takeTurn() }
  }

  private func takeTurn() {
    target.async {
      self.state.withLock { $0.waiting.popFirst() }?()
      let isOver = self.state.withLock { state in
        state.isBusy = !state.waiting.isEmpty
        return !state.isBusy
      }
      if !isOver { self.takeTurn() }
    }
  }
}
