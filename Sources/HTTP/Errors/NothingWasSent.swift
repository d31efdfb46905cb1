/// The cause of a deadline's error if it is certain that no byte of the request has left this machine, or ever will.
package struct NothingWasSent: Error {
  package init() {}
}
