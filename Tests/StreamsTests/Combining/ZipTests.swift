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
}
