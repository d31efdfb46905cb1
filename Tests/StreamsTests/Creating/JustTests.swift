import Streams
import Testing

@Suite struct JustTests {
  static let sources: [Observable<Int>] = [.just(1), .from([1]), .from([]), .empty(), .error(Broken())]

  @Test(arguments: sources) func `9: a source says nothing where its subscription was disposed before it began`(
    _ source: Observable<Int>
  ) {
    let (handle, start, calls) = (Handle(), PublishSubject<Int>(), Counter())
    let stream = Observable<Void>.deferred {
      handle.dispose()
      return source.map { _ in calls.increment() }.reduce(into: ()) { _, _ in
      } finishing: {
        calls.increment()
      }
    }
    handle.set(start.asObservable().flatMap { _ in stream }.subscribe())
    start.onNext(0)
    #expect(calls.count == 0)
  }
}
