extension Observable {
  /// The result of `work`, then completion. If `work` throws, the stream fails with that error. Disposing cancels the
  /// task.
  ///
  ///     async { await f() }   ──────a|
  @inlinable
  public static func async(
    priority: TaskPriority? = nil, _ work: @escaping @Sendable () async throws -> Element
  ) -> Observable<Element> {
    create { observer in
      let task = Task(priority: priority) {
        do {
          observer.onNext(try await work())
          observer.onCompleted()
        } catch {
          observer.onError(error)
        }
      }
      return Disposables.create { task.cancel() }
    }
  }
}
