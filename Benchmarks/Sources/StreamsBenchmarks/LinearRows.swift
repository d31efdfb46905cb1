import OpenCombine
import Streams

private typealias Rx = Streams.Observable
private typealias Subject = Streams.PublishSubject

/// A custom source, made with `create`; its counterpart in OpenCombine is a PassthroughSubject.
private func created(_ count: Int) -> Streams.Observable<Int> {
  .create { observer in
    for index in 0..<count { observer.onNext(index) }
    observer.onCompleted()
    return Disposables.create()
  }
}

let linearRows: [Row] = [
  Row(
    name: "just, map, subscribe, dispose", count: 100_000,
    works: [
      { (count: Int) async -> Int in
        let sum = Sum()
        for index in 0..<count {
          Streams.Observable.just(index).map { $0 + 1 }.subscribe(onNext: { sum.value += $0 }).dispose()
        }
        return sum.value
      },
      { (count: Int) async -> Int in
        let sum = Sum()
        for index in 0..<count {
          Just(index).map { $0 + 1 }.sink(receiveValue: { sum.value += $0 }).cancel()
        }
        return sum.value
      }, nil, nil,
    ], floor: 5, aim: 10, allocationFloor: 8, allocationAim: 6),
  Row(
    name: "create, map, subscribe, dispose", count: 100_000,
    works: [
      { (count: Int) async -> Int in
        let sum = Sum()
        for index in 0..<count {
          Streams.Observable<Int>.create { observer in
            observer.onNext(index)
            return Disposables.create()
          }.map { $0 + 1 }.subscribe(onNext: { sum.value += $0 }).dispose()
        }
        return sum.value
      },
      { (count: Int) async -> Int in
        let sum = Sum()
        for index in 0..<count {
          let subject = PassthroughSubject<Int, Never>()
          let subscription = subject.map { $0 + 1 }.sink(receiveValue: { sum.value += $0 })
          subject.send(index)
          subscription.cancel()
        }
        return sum.value
      }, nil, nil,
    ], floor: 5, aim: 10, allocationFloor: 8, allocationAim: 6),
  Row(
    name: "create, map, filter", count: 1_000_000,
    works: [
      { (count: Int) async -> Int in
        let sum = Sum()
        _ = created(count).map { $0 &* 3 }.filter { $0 & 1 == 0 }.subscribe(onNext: { sum.value &+= $0 })
        return sum.value
      },
      { (count: Int) async -> Int in
        let sum = Sum()
        let subject = PassthroughSubject<Int, Never>()
        let subscription = subject.map { $0 &* 3 }.filter { $0 & 1 == 0 }.sink(receiveValue: { sum.value &+= $0 })
        for index in 0..<count { subject.send(index) }
        subscription.cancel()
        return sum.value
      },
      nil,
      { (count: Int) async -> Int in
        let sum = Sum()
        let chain = closureChain { sum.value &+= $0 }
        for index in 0..<count { chain(index) }
        return sum.value
      },
    ], floor: 3, aim: 5, closureFloor: 2.5, closureAim: 1.6),
  Row(
    name: "from, map, filter", count: 1_000_000,
    works: [
      { (count: Int) async -> Int in
        let sum = Sum()
        _ = Streams.Observable.from(0..<count).map { $0 &* 3 }.filter { $0 & 1 == 0 }
          .subscribe(onNext: { sum.value &+= $0 })
        return sum.value
      },
      { (count: Int) async -> Int in
        let sum = Sum()
        let subscription = (0..<count).publisher.map { $0 &* 3 }.filter { $0 & 1 == 0 }
          .sink(receiveValue: { sum.value &+= $0 })
        subscription.cancel()
        return sum.value
      },
      { (count: Int) async -> Int in
        var sum = 0
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        for index in 0..<count { continuation.yield(index) }
        continuation.finish()
        for await element in stream.map({ $0 &* 3 }).filter({ $0 & 1 == 0 }) { sum &+= element }
        return sum
      },
      { (count: Int) async -> Int in
        let sum = Sum()
        let chain = closureChain { sum.value &+= $0 }
        for index in 0..<count { chain(index) }
        return sum.value
      },
    ], floor: 3, aim: 5, closureFloor: 2.5, closureAim: 1.6),
  Row(
    name: "ten maps", count: 1_000_000,
    works: [
      { (count: Int) async -> Int in
        let sum = Sum()
        _ = created(count)
          .map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }
          .map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }
          .subscribe(onNext: { sum.value &+= $0 })
        return sum.value
      },
      { (count: Int) async -> Int in
        let sum = Sum()
        let subject = PassthroughSubject<Int, Never>()
        let subscription =
          subject
          .map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }
          .map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }.map { $0 &+ 1 }
          .sink(receiveValue: { sum.value &+= $0 })
        for index in 0..<count { subject.send(index) }
        subscription.cancel()
        return sum.value
      }, nil, nil,
    ], floor: 8, aim: 12),
  subjectRow(subscribers: 1, count: 1_000_000, floor: 4, aim: 6),
  subjectRow(subscribers: 100, count: 20_000, floor: 15, aim: 35),
]

/// A map and a filter as closures that call each other, opaque to the optimizer.
private func closureChain(_ end: @escaping @Sendable (Int) -> Void) -> @Sendable (Int) -> Void {
  let isEven: @Sendable (Int) -> Bool = { $0 & 1 == 0 }
  let triple: @Sendable (Int) -> Int = { $0 &* 3 }
  let (next, test, transform) = (opaque(end), opaque(isEven), opaque(triple))
  let filter: Handler = { if test($0) { next($0) } }
  let filtered = opaque(filter)
  let map: Handler = { filtered(transform($0)) }
  return opaque(map)
}

private typealias Handler = @Sendable (Int) -> Void

private func subjectRow(subscribers: Int, count: Int, floor: Double, aim: Double) -> Row {
  Row(
    name: "subject to \(subscribers)", count: count,
    works: [
      { (count: Int) async -> Int in
        let sum = Sum()
        let subject = Subject<Int>()
        let subscriptions = (0..<subscribers).map { _ in
          subject.asObservable().subscribe(onNext: { sum.value &+= $0 })
        }
        for index in 0..<count { subject.onNext(index) }
        for subscription in subscriptions { subscription.dispose() }
        return sum.value
      },
      { (count: Int) async -> Int in
        let sum = Sum()
        let subject = PassthroughSubject<Int, Never>()
        let subscriptions = (0..<subscribers).map { _ in subject.sink(receiveValue: { sum.value &+= $0 }) }
        for index in 0..<count { subject.send(index) }
        for subscription in subscriptions { subscription.cancel() }
        return sum.value
      }, nil, nil,
    ], floor: floor, aim: aim)
}
