import Streams
import Testing

/// One entry of the compliance suite: an operator, built so that it passes the integers of its source on unchanged.
struct Operator: Sendable, CustomTestStringConvertible {
  /// Called with each element by the operator's closure, where it has one that sees elements.
  typealias Hook = @Sendable (Int) throws -> Void

  enum Trait: Sendable {
    /// Has a closure that sees the elements: the hook is called.
    case hooked
    /// Has a closure that sees the error: the hook is called with ``Operator/atError``.
    case hookedAtError
    /// Does something else with errors than to pass them on.
    case handlesErrors
    /// Tears a source down before what follows from its end is sent on.
    case tearsDownFirst
    /// Does that at an error.
    case tearsDownFirstAtError
    /// May leave elements out when they come fast.
    case thins
  }

  /// What the hook is called with at an error.
  static let atError = -1

  let name: String
  let traits: Set<Trait>
  let build: @Sendable (Observable<Int>, @escaping Hook) -> Observable<Int>

  init(
    _ name: String, _ traits: Set<Trait> = [],
    build: @escaping @Sendable (Observable<Int>, @escaping Hook) -> Observable<Int>
  ) {
    self.name = name
    self.traits = traits
    self.build = build
  }

  var testDescription: String { name }

  func has(_ trait: Trait) -> Bool { traits.contains(trait) }

  func callAsFunction(_ source: Observable<Int>) -> Observable<Int> { build(source) { _ in } }

  func callAsFunction(_ source: Observable<Int>, hook: @escaping Hook) -> Observable<Int> { build(source, hook) }
}

struct Broken: Error {}
