import Streams
import Testing

/// One entry of the compliance suite: a source that sends each subscriber the same, by itself.
struct Constant: Sendable, CustomTestStringConvertible {
  let name: String
  let stream: Observable<Int>
  /// What each subscriber is told, as a ``Probe`` logs it; nothing where there is no end.
  let log: [String]

  init(_ name: String, _ stream: Observable<Int>, _ log: [String]) {
    self.name = name
    self.stream = stream
    self.log = log
  }

  var testDescription: String { name }

  static let all = [
    Constant("just", .just(1), ["1", "|"]),
    Constant("from", .from(1...3), ["1", "2", "3", "|"]),
    Constant("empty", .empty(), ["|"]),
    Constant("error", .error(Broken()), ["x"]),
    Constant("never", .never(), []),
    Constant("async", .async { 1 }, ["1", "|"]),
    Constant("async, failing", .async { throw Broken() }, ["x"]),
  ]
}
