import Streams

/// Passes elements on, and has at most one other source follow the first.
final class PassingHandler: SourceHandler {
  let disposals = Counter()
  private let first: Observable<Int>
  private let afterError: Observable<Int>?
  private let afterCompletion: Observable<Int>?
  private let onNext: @Sendable (Int) throws -> Void
  private let ends = Counter()

  init(
    first: Observable<Int>, afterError: Observable<Int>? = nil, afterCompletion: Observable<Int>? = nil,
    onNext: @escaping @Sendable (Int) throws -> Void = { _ in }
  ) {
    self.first = first
    self.afterError = afterError
    self.afterCompletion = afterCompletion
    self.onNext = onNext
  }

  func start(_ interruption: @escaping Interruption) -> Observable<Int> { first }

  func next(_ element: Int, _ emit: (Int) -> Void) throws {
    try onNext(element)
    emit(element)
  }

  func end(
    _ error: (any Error)?, _ interruption: @escaping Interruption, _ emit: (Int) -> Void
  ) throws -> Observable<Int>? {
    ends.increment()
    if ends.count == 1, let successor = error == nil ? afterCompletion : afterError { return successor }
    if let error {
      if !(error is Interrupted) { try onNext(Operator.atError) }
      throw error
    }
    return nil
  }

  func dispose() { disposals.increment() }
}

/// The error of an interruption.
struct Interrupted: Error {}
