import Synchronization

/// Limits how many values a label has: each value costs the metrics backend memory in each process, for ever. Those that
/// come when there are that many already are one, `_OTHER`.
package final class BoundedValues: Sendable {
  private let limit: Int
  private let known = Mutex<Set<String>>([])

  package init(limit: Int) {
    self.limit = limit
  }

  /// The value, or `_OTHER`.
  package func bounded(_ value: String) -> String {
    known.withLock { known in
      if known.contains(value) { return value }
      guard known.count < limit else { return Name.other }
      known.insert(value)
      return value
    }
  }
}
