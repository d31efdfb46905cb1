import Streams
import Synchronization
import Testing

@Suite struct SmokeTests {
  final class Log: Sendable {
    let lines = Atomic<Int>(0)
    nonisolated(unsafe) var text: [String] = []
    func add(_ s: String) { text.append(s) }
  }

  func record<E>(_ observable: Observable<E>) -> (Log, any Disposable) {
    let log = Log()
    let d = observable.subscribe(
      onNext: { log.add("\($0)") }, onError: { _ in log.add("x") }, onCompleted: { log.add("|") },
      onDisposed: { log.add("d") })
    return (log, d)
  }

  @Test func linear() async throws {
    #expect(record(Observable.from([1, 2, 3]).map { $0 * 2 }.filter { $0 > 2 }).0.text == ["4", "6", "|", "d"])
    #expect(record(Observable.from(1...).take(2)).0.text == ["1", "2", "|", "d"])
    #expect(record(Observable.from(1...3).flatMap { .from([$0, $0 * 10]) }).0.text == ["1", "10", "2", "20", "3", "30", "|", "d"])
    #expect(
      record(Observable.from(1...).map { if $0 == 3 { throw StreamError.timeout } else { $0 } }.catchAndReturn(9)).0.text
        == ["1", "2", "9", "|", "d"])
    #expect(try await Observable.just(3).value == 3)
    #expect(try await Observable.async { 4 }.value == 4)
    var got: [Int] = []
    for try await x in Observable.from(1...5).values(bufferingPolicy: .unbounded) { got.append(x) }
    #expect(got == [1, 2, 3, 4, 5])
  }

  @Test func subjects() {
    let s = BehaviorSubject(value: 1)
    let (log, d) = record(s.asObservable())
    s.onNext(2)
    d.dispose()
    s.onNext(3)
    #expect(log.text == ["1", "2", "d"])
    #expect(s.value == 3)
    let r = ReplaySubject<Int>.create(bufferSize: 2)
    for i in 1...4 { r.onNext(i) }
    r.onCompleted()
    #expect(record(r.asObservable()).0.text == ["3", "4", "|", "d"])
  }

  @Test func create() {
    let (log, _) = record(
      Observable<Int>.create { o in
        o.onNext(1)
        o.onCompleted()
        o.onNext(2)
        return Disposables.create { }
      })
    #expect(log.text == ["1", "|", "d"])
  }
}
