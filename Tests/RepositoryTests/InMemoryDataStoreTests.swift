import Dispatch
import Repository
import Streams
import TestSupport
import Testing

@Suite struct InMemoryDataStoreTests {
  private let store = InMemoryDataStore<String, Int>()

  private func record(_ key: String) -> (values: Monitor<[Int]>, subscription: any Disposable) {
    let values = Monitor<[Int]>([])
    return (values, store.values(for: key).subscribe(onNext: { value in values.update { $0.append(value) } }))
  }

  @Test func `a watcher gets the latest value at once, then each that is saved`() {
    store.save(1, for: "a")
    store.save(2, for: "a")
    let (values, _) = record("a")
    #expect(values.value == [2])
    store.save(3, for: "a")
    store.save(3, for: "a")
    #expect(values.value == [2, 3, 3])
  }

  @Test func `a watcher of a key without a value waits for the first`() {
    let (values, _) = record("a")
    #expect(values.value == [])
    store.save(1, for: "a")
    #expect(values.value == [1])
  }

  @Test func `keys are apart`() {
    let (a, _) = record("a")
    let (b, _) = record("b")
    store.save(1, for: "a")
    store.save(2, for: "")
    #expect(a.value == [1])
    #expect(b.value == [])
  }

  @Test func `a watcher that was disposed gets nothing more, and others do`() {
    let (first, subscription) = record("a")
    let (second, _) = record("a")
    store.save(1, for: "a")
    subscription.dispose()
    store.save(2, for: "a")
    #expect(first.value == [1])
    #expect(second.value == [1, 2])
  }

  @Test func `a value may be saved while one is told`() {
    let values = Monitor<[Int]>([])
    _ = store.values(for: "a").subscribe(onNext: { [store] value in
      values.update { $0.append(value) }
      if value < 3 { store.save(value + 1, for: "a") }
    })
    store.save(1, for: "a")
    #expect(values.value == [1, 2, 3])
  }

  @Test func `many threads save, and each watcher sees every value and the same last one`() {
    let watchers = (0..<4).map { _ in record("a").values }
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for value in 0..<500 { store.save(thread * 500 + value, for: "a") }
    }
    for watcher in watchers {
      #expect(watcher.value.sorted() == Array(0..<4000))
      #expect(watcher.value == watchers[0].value)
    }
    #expect(record("a").values.value == [watchers[0].value.last])
  }

  @Test func `a stream outlives the store that gave it`() {
    var store: InMemoryDataStore<String, Int>? = InMemoryDataStore()
    store?.save(1, for: "a")
    let stream = store?.values(for: "a")
    store = nil
    let values = Monitor<[Int]>([])
    _ = stream?.subscribe(onNext: { value in values.update { $0.append(value) } })
    #expect(values.value == [1])
  }

  @Test func `what was saved goes away with the store`() {
    final class Value: Sendable {}
    weak var gone: Value?
    do {
      let store = InMemoryDataStore<String, Value>()
      let value = Value()
      gone = value
      store.save(value, for: "a")
      let subscription = store.values(for: "a").subscribe()
      store.save(value, for: "a")
      subscription.dispose()
    }
    #expect(gone == nil)
  }
}
