import Streams
import Testing

@Suite struct ZipTests {
  @Test func `27: a zip that has ended while it began starts no other source`() {
    let starts = Counter()
    let other = Observable<Int>.deferred {
      starts.increment()
      return .just(1)
    }
    #expect(Observable.zip(.error(Broken()), other).map { $0 + $1 }.recorded() == ["x", "."])
    #expect(Observable.zip(.empty(), other).map { $0 + $1 }.recorded() == ["|", "."])
    #expect(starts.count == 0)
  }

  @Test(.timeLimit(.minutes(1))) func `27: an event of one among many looks at that one alone`() {
    let sources = Array(repeating: Observable.from(1...3), count: 50_000)
    let rows = Observable.zip(sources).map { $0.reduce(0, +) }.recorded()
    #expect(rows == ["50000", "100000", "150000", "|", "."])
  }
}
