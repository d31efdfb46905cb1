import Streams
import Testing

/// What laws are tested on: a source, alone or with an operator behind it.
struct Pipeline: Sendable, CustomTestStringConvertible {
  let source: Source
  let op: Operator?

  var testDescription: String { [source.name, op?.name].compactMap { $0 }.joined(separator: " → ") }

  /// Each operator behind one source, and each source alone.
  static func all(_ operators: [Operator], behind source: Source) -> [Pipeline] {
    operators.map { Pipeline(source: source, op: $0) } + Source.all.map { Pipeline(source: $0, op: nil) }
  }

  /// Makes one.
  func make(hook: @escaping Operator.Hook = { _ in }) -> Source.Line {
    let (stream, sender) = source.make()
    return (op?(stream, hook: hook) ?? stream, sender)
  }
}
