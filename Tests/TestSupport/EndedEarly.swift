/// A program ended before it wrote what a test waited for.
package struct EndedEarly: Error, CustomStringConvertible {
  package let what: String
  package let state: ChildProcess.State
  package let location: String

  package var description: String { "Waited for \(what) at \(location), but it ended: \(state)" }
}
