package import Stores
package import Streams
import TestSupport

/// What a subscription has got so far.
package final class Recorder<Element: Sendable>: Sendable {
  package let elements = Mutable<[Element]>([])
  package let error = Mutable<(any Error)?>(nil)
  package let isCompleted = Mutable(false)
  private let ending = Monitor(false)
  private let bag = DisposeBag()

  package init(_ stream: Observable<Element>) {
    let subscription = stream.subscribe(
      onNext: { [elements] element in elements.update { $0.append(element) } },
      onError: { [error, ending] failure in
        error.update { $0 = failure }
        ending.update { $0 = true }
      },
      onCompleted: { [isCompleted, ending] in
        isCompleted.update { $0 = true }
        ending.update { $0 = true }
      })
    bag.insert(subscription)
  }

  package func dispose() { bag.dispose() }

  /// Waits until the stream completes, as one does elsewhere whose value is written to disk before.
  package func waitForCompletion() async throws {
    _ = try await ending.wait { $0 }
    if let error = error.value { throw error }
  }

  /// Waits until the stream completes or fails.
  package func waitForEnd() async throws { _ = try await ending.wait { $0 } }

  /// What came since this was asked last.
  package func take() -> [Element] {
    elements.update { elements in
      defer { elements = [] }
      return elements
    }
  }
}

extension Snapshot {
  /// `value source`, with `~` where it is stale, `!` for errors and `…` while a request is under way.
  package var brief: String {
    var text = value.map { "\($0)" } ?? "-"
    if let source { text += " \(source)" }
    if isStale { text += " ~" }
    if !errors.isEmpty { text += " !" }
    if isFetching { text += " …" }
    return text
  }
}

extension Recorder {
  package func brief<Value>() -> [String] where Element == Snapshot<Value> { take().map(\.brief) }
}
