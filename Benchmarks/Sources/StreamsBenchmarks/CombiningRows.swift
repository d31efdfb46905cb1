import OpenCombine
import Streams

let combiningRows: [Row] = [
  Row(
    name: "flatMap of just", count: 200_000,
    works: [
      { (count: Int) async -> Int in
        let sum = Sum()
        _ = Streams.Observable.from(0..<count).flatMap { .just($0 &+ 1) }.subscribe(onNext: { sum.value &+= $0 })
        return sum.value
      },
      { (count: Int) async -> Int in
        let sum = Sum()
        let subscription = (0..<count).publisher.flatMap { Just($0 &+ 1) }.sink(receiveValue: { sum.value &+= $0 })
        subscription.cancel()
        return sum.value
      }, nil, nil,
    ], floor: 2, aim: 4),
  Row(
    name: "zip of two subjects", count: 200_000,
    works: [
      { (count: Int) async -> Int in
        let sum = Sum()
        let (first, second) = (PublishSubject<Int>(), PublishSubject<Int>())
        let subscription = Streams.Observable.zip(first.asObservable(), second.asObservable()) { $0 &+ $1 }
          .subscribe(onNext: { sum.value &+= $0 })
        for index in 0..<count {
          first.onNext(index)
          second.onNext(index)
        }
        subscription.dispose()
        return sum.value
      },
      { (count: Int) async -> Int in
        let sum = Sum()
        let (first, second) = (PassthroughSubject<Int, Never>(), PassthroughSubject<Int, Never>())
        let subscription = first.zip(second) { $0 &+ $1 }.sink(receiveValue: { sum.value &+= $0 })
        for index in 0..<count {
          first.send(index)
          second.send(index)
        }
        subscription.cancel()
        return sum.value
      }, nil, nil,
    ]),
  Row(
    name: "combineLatest of two subjects", count: 200_000,
    works: [
      { (count: Int) async -> Int in
        let sum = Sum()
        let (first, second) = (PublishSubject<Int>(), PublishSubject<Int>())
        let subscription = Streams.Observable.combineLatest(first.asObservable(), second.asObservable()) { $0 &+ $1 }
          .subscribe(onNext: { sum.value &+= $0 })
        for index in 0..<count {
          first.onNext(index)
          second.onNext(index)
        }
        subscription.dispose()
        return sum.value
      },
      // OpenCombine 0.14 has no combineLatest, and the result of AsyncAlgorithms' is not deterministic here.
      nil, nil, nil,
    ]),
]
