@usableFromInline
struct NoDisposable: Disposable {
  @usableFromInline init() {}
  @usableFromInline func dispose() {}
}
