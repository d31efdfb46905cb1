import Foundation
import Streams
import Synchronization
import SystemBase

/// An observer that records what it is told, and counts what a stream must never do.
final class Probe<Element: Sendable>: Sendable {
  private let state = Locked((elements: [Element](), log: [String]()))
  private let isInside = Atomic(false)
  private let overlapCount = Atomic(0)
  private let terminalCount = Atomic(0)
  private let lateCount = Atomic(0)

  var elements: [Element] { state.withLock { $0.elements } }
  /// Each event in order: the elements, `x` for an error, `|` for completion, `.` for disposed.
  var log: [String] { state.withLock { $0.log } }
  var overlaps: Int { overlapCount.load(ordering: .sequentiallyConsistent) }
  var terminals: Int { terminalCount.load(ordering: .sequentiallyConsistent) }
  /// Events that began after a terminal event had begun.
  var late: Int { lateCount.load(ordering: .sequentiallyConsistent) }

  func note(_ line: String) { state.withLock { $0.log.append(line) } }

  func onNext(_ element: Element) {
    call(isTerminal: false) {
      state.withLock {
        $0.elements.append(element)
        $0.log.append("\(element)")
      }
    }
  }

  func onEnd(_ line: String) { call(isTerminal: true) { note(line) } }

  private func call(isTerminal: Bool, _ body: () -> Void) {
    if isInside.exchange(true, ordering: .sequentiallyConsistent) {
      overlapCount.add(1, ordering: .sequentiallyConsistent)
    }
    if terminals > 0 { lateCount.add(1, ordering: .sequentiallyConsistent) }
    if isTerminal { terminalCount.add(1, ordering: .sequentiallyConsistent) }
    body()
    isInside.store(false, ordering: .sequentiallyConsistent)
  }
}

extension Observable {
  /// Subscribes `probe`; `then` runs inside each onNext, after the element was recorded.
  func subscribe(
    _ probe: Probe<Element>, then: (@Sendable (Element) -> Void)? = nil
  ) -> any Disposable {
    subscribe(
      onNext: {
        probe.onNext($0)
        then?($0)
      },
      onError: { _ in probe.onEnd("x") },
      onCompleted: { probe.onEnd("|") },
      onDisposed: { probe.note(".") })
  }

  /// All that a stream says, for one that has said it all when subscribe returns.
  func recorded() -> [String] {
    let probe = Probe<Element>()
    _ = subscribe(probe)
    return probe.log
  }
}

/// A handle that is known only after `subscribe` returned, for a handler that disposes it.
final class Handle: Sendable {
  private let disposable = Locked<(any Disposable)?>(nil)

  func set(_ disposable: any Disposable) { self.disposable.withLock { $0 = disposable } }

  func dispose() { disposable.withLock { $0 }?.dispose() }
}

/// Something whose release can be seen.
final class Token: Sendable {
  private let onDeinit: @Sendable () -> Void

  init(onDeinit: @escaping @Sendable () -> Void = {}) { self.onDeinit = onDeinit }

  deinit { onDeinit() }

  func touch() {}
}
