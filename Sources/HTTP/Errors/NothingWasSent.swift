/// The cause of a deadline's error where no byte of the request has left this machine, for certain, or will.
package struct NothingWasSent: Error {
  package init() {}
}
