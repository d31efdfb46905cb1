import Streams
import TestSupport
import Testing

/// Laws 19 and 20.
@Suite struct ColdTests {
  @Test(arguments: Operator.all) func `19: no effect before subscribe, and one run for each subscriber`(_ op: Operator)
  {
    let runs = Counter()
    let source = Observable<Int>.create { observer in
      runs.increment()
      observer.onNext(1)
      observer.onCompleted()
      return Disposables.create()
    }
    let stream = op(source)
    #expect(runs.count == 0)
    #expect(stream.recorded() == ["1", "|", "."])
    #expect(stream.recorded() == ["1", "|", "."])
    #expect(runs.count == 2)
  }

  @Test(arguments: 0..<50) func `20: linear operators equal their Array models`(_ round: Int) {
    var generator = SystemRandomNumberGenerator()
    let seed = generator.next()
    var random = SplitMix(seed: seed)
    let input = (0..<Int.random(in: 0...40, using: &random)).map { _ in Int.random(in: -5...5, using: &random) }
    let count = Int.random(in: -1...45, using: &random)
    let source = Observable.from(input)
    func check(_ stream: Observable<Int>, _ model: [Int], line: Int = #line) {
      #expect(stream.recorded() == model.map(String.init) + ["|", "."], "seed \(seed), line \(line)")
    }
    check(source.map { $0 * 3 }, input.map { $0 * 3 })
    check(source.filter { $0 > 0 }, input.filter { $0 > 0 })
    check(source.compactMap { $0 > 0 ? $0 * 2 : nil }, input.compactMap { $0 > 0 ? $0 * 2 : nil })
    check(source.take(count), Array(input.prefix(max(0, count))))
    check(source.skip(count), Array(input.dropFirst(max(0, count))))
    check(
      source.scan(0) { $0 &* 3 &+ $1 }, input.indices.map { input[...$0].reduce(0) { $0 &* 3 &+ $1 } })
    check(
      source.distinctUntilChanged(), input.indices.filter { $0 == 0 || input[$0] != input[$0 - 1] }.map { input[$0] })
    check(source.flatMap { .from([$0, -$0]) }, input.flatMap { [$0, -$0] })
  }
}
