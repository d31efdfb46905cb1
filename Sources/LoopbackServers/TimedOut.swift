/// What a wait throws when its limit has passed.
package struct TimedOut: Error, CustomStringConvertible {
  package let what: String
  package let limit: Duration
  package let state: String
  package let location: String

  package init(what: String, limit: Duration, state: String, location: String) {
    self.what = what
    self.limit = limit
    self.state = state
    self.location = location
  }

  package var description: String {
    "Waited \(limit) for \(what) at \(location); the state was: \(state.prefix(2000))"
  }
}
