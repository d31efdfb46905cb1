/// The cause of an `invalidRequest` that lies in a client's settings, and not in the request: with others it could be sent.
package struct WrongSettings: Error {
  package init() {}
}
