import Dispatch
public import GRDB
public import Streams

extension ValueObservation where Reducer: ValueReducer, Reducer.Value: Sendable {
  /// A cold stream of the observed value: the present one, and a new one after each transaction that changes what it is
  /// read from, if the transaction was made through the same pool or queue. It calls back on a queue of its own, sends
  /// only the latest value if several transactions came meanwhile, and never completes.
  public func observable(in database: any DatabaseReader) -> Observable<Reducer.Value> {
    .create { observer in
      let observation = self.start(
        in: database, scheduling: .async(onQueue: DispatchQueue(label: "ValueObservation")),
        onError: { observer.onError($0) }, onChange: { observer.onNext($0) })
      return Disposables.create { observation.cancel() }
    }
  }
}
