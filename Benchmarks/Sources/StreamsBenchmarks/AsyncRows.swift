import AsyncAlgorithms
import Dispatch
import OpenCombine
import OpenCombineDispatch
import Streams

let asyncRows: [Row] = [
  Row(
    name: "observe(on:) a serial queue", count: 200_000,
    works: [
      { (count: Int) async -> Int in
        let sum = Sum()
        let done = DispatchSemaphore(value: 0)
        let subject = PublishSubject<Int>()
        let scheduler = SerialScheduler(queue: DispatchQueue(label: "streams"))
        let subscription = subject.asObservable().observe(on: scheduler)
          .subscribe(onNext: { sum.value &+= $0 }, onCompleted: { done.signal() })
        for index in 0..<count { subject.onNext(index) }
        subject.onCompleted()
        wait(done)
        subscription.dispose()
        return sum.value
      },
      { (count: Int) async -> Int in
        let sum = Sum()
        let done = DispatchSemaphore(value: 0)
        let subject = PassthroughSubject<Int, Never>()
        let queue = DispatchQueue(label: "opencombine")
        let subscription = subject.receive(on: queue.ocombine)
          .sink(receiveCompletion: { _ in done.signal() }, receiveValue: { sum.value &+= $0 })
        for index in 0..<count { subject.send(index) }
        subject.send(completion: .finished)
        wait(done)
        subscription.cancel()
        return sum.value
      }, nil, nil,
    ], floor: 3, aim: 5),
  Row(
    name: "values", count: 200_000,
    works: [
      { (count: Int) async -> Int in
        var sum = 0
        let source = Streams.Observable.from(0..<count)
        do { for try await element in source.values(bufferingPolicy: .unbounded) { sum &+= element } } catch {}
        return sum
      }, nil,
      { (count: Int) async -> Int in
        var sum = 0
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: Int.self)
        for index in 0..<count { continuation.yield(index) }
        continuation.finish()
        do { for try await element in stream { sum &+= element } } catch {}
        return sum
      }, nil,
    ]),
  Row(
    name: "zip, to values", count: 50_000,
    works: [
      { (count: Int) async -> Int in
        var sum = 0
        let zipped = Streams.Observable.zip(.from(0..<count), .from(0..<count)) { $0 &+ $1 }
        do { for try await element in zipped.values(bufferingPolicy: .unbounded) { sum &+= element } } catch {}
        return sum
      }, nil,
      { (count: Int) async -> Int in
        var sum = 0
        for await (first, second) in zip((0..<count).async, (0..<count).async) { sum &+= first &+ second }
        return sum
      }, nil,
    ]),
]

private func wait(_ done: DispatchSemaphore) { done.wait() }
