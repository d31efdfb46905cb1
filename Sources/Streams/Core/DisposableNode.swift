@usableFromInline
final class DisposableNode: Node, @unchecked Sendable {
  private let disposable: any Disposable

  @usableFromInline init(_ disposable: any Disposable) { self.disposable = disposable }

  @usableFromInline override func run() { disposable.dispose() }
}
