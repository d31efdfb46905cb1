@usableFromInline
final class GuardedStorage<Value>: ManagedBuffer<Value, Lock> {
  deinit {
    withUnsafeMutablePointerToElements { $0.destroy() }
  }
}
