import Dispatch

extension Duration {
  var dispatchInterval: DispatchTimeInterval {
    .nanoseconds(Int(clamping: components.seconds) * 1_000_000_000 + Int(components.attoseconds / 1_000_000_000))
  }

  /// Rounded up, so that waiting that long does not end too early.
  var milliseconds: Int32 {
    Int32(clamping: components.seconds * 1000 + (components.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
