/// What a handler adds up. Each run has its own, and calls it from one thread at a time.
final class Sum: @unchecked Sendable {
  var value = 0
}

/// Keeps the optimizer from knowing what it is given.
@inline(never)
func opaque<Value>(_ value: Value) -> Value { value }
