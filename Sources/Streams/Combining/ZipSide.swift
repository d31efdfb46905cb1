/// One source of a zip, and its elements that wait for partners.
///
/// `@unchecked Sendable`: it is touched only inside the zip's serializer.
@usableFromInline
final class ZipSide<Element: Sendable>: @unchecked Sendable {
  @usableFromInline var waiting = Fifo<Element>()
  @usableFromInline var isEnded = false

  @inlinable init() {}

  @inlinable var isOver: Bool { isEnded && waiting.isEmpty }

  @inlinable
  func start<Result: Sendable>(
    _ source: Observable<Element>, in sink: Sink<Result>, _ serializer: Serializer,
    _ match: @escaping @Sendable () -> Void
  ) {
    let onNext: @Sendable (Element) -> Void = { element in
      self.waiting.append(element)
      match()
    }
    let onEnd: @Sendable ((any Error)?) -> Void = { error in
      if let error { return sink.end(error) }
      self.isEnded = true
      match()
    }
    source.start(sink.segment(), next: serializer.serializing(onNext), end: serializer.serializing(onEnd))
  }
}
