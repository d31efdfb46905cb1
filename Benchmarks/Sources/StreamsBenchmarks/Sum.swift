/// A sum that a handler adds to. Each run has its own, and calls it from one thread at a time.
final class Sum: @unchecked Sendable {
  var value = 0
}

/// Hides the value from the optimizer.
@inline(never)
func opaque<Value>(_ value: Value) -> Value { value }
