import Repository
import Streams
import TestSupport

/// What a subscription has got so far.
final class Recorder<Element: Sendable>: Sendable {
  let elements = Mutable<[Element]>([])
  let error = Mutable<(any Error)?>(nil)
  let isCompleted = Mutable(false)
  private let ending = Monitor(false)
  private let bag = DisposeBag()

  init(_ stream: Observable<Element>) {
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

  func dispose() { bag.dispose() }

  /// Waits until the stream completes, as one does elsewhere whose value is written to disk before.
  func waitForCompletion() async throws {
    _ = try await ending.wait { $0 }
    if let error = error.value { throw error }
  }

  /// The same for a stream that fails.
  func waitForEnd() async throws { _ = try await ending.wait { $0 } }

  /// What came since this was asked last.
  func take() -> [Element] {
    elements.update { elements in
      defer { elements = [] }
      return elements
    }
  }
}

extension Snapshot {
  /// `value source`, with `~` where it is stale, `!` for errors and `…` while a request is under way.
  var brief: String {
    var text = value.map { "\($0)" } ?? "-"
    if let source { text += " \(source)" }
    if isStale { text += " ~" }
    if !errors.isEmpty { text += " !" }
    if isFetching { text += " …" }
    return text
  }
}

extension Recorder {
  func brief<Value>() -> [String] where Element == Snapshot<Value> { take().map(\.brief) }
}
