/// What a wait throws when its limit has passed.
package struct TimedOut: Error, CustomStringConvertible {
  package let what: String
  package let limit: Duration
  package let state: String
  package let location: String

  package var description: String {
    "Waited \(limit) for \(what) at \(location); the state was: \(state.prefix(2000))"
  }
}
