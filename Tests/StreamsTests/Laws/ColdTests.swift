import Streams
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
    check(source.flatMap { .from([$0, -$0]) }, input.flatMap { [$0, -$0] })
  }
}

/// A small generator that a seed repeats.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
