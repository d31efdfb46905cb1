import Glibc

/// A port at which every connection is refused, and that the system gives to no other socket while this object lives.
///
/// A server that asks for this very port gets it, with `SO_REUSEADDR`; when it ends, the port refuses again.
package final class RefusingPort: Sendable {
  package let port: UInt16
  private let socket: Descriptor

  package init() throws {
    (socket, port) = try Loopback.bind(isShared: true)  // bound, never listening
  }
}
