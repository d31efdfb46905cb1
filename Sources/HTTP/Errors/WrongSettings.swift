/// The cause of an `invalidRequest` that is due to a client's settings, not to the request: with other settings it
/// could be sent.
package struct WrongSettings: Error {
  package init() {}
}
