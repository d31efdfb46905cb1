extension Observable {
  /// The elements of all `sources`, as they arrive.
  ///
  ///     a              ──1─────3──|
  ///     b              ────2──────4──|
  ///     merge(a, b)    ──1─2───3──4──|
  ///
  /// It completes when all have completed; the first error ends it and cancels the others.
  @inlinable
  public static func merge(_ sources: [Observable<Element>]) -> Observable<Element> {
    Observable { sink in
      let merge = Merge(sink)
      for source in sources { merge.add(source) }
      merge.end(nil)
    }
  }

  /// The elements of all `sources`, as they arrive.
  @inlinable
  public static func merge(_ sources: Observable<Element>...) -> Observable<Element> { merge(sources) }
}
