/// Shared by all sessions of one configuration: OpenSSL's context, made once, and the session tickets.
///
/// Thread-safe.
package final class TLSContext: Sendable {
  let tickets: TicketStore
  private let configuration: TLSConfiguration
  private let context = Locked<OpenSSLContext?>(nil)

  /// Makes a context; this does not load anything yet.
  package init(_ configuration: TLSConfiguration) {
    self.configuration = configuration
    tickets = TicketStore()
  }

  /// Loads OpenSSL and reads the certificates, unless that is done: about 55 ms for a system's certificates, during
  /// which all others who need this context wait. Call it before the first session, on a thread that may block.
  ///
  /// Throws `insecure`; the next call tries again.
  package func prepare() throws(RequestError) {
    _ = try openSSL()
  }

  func openSSL() throws(RequestError) -> OpenSSLContext {
    let result: Result<OpenSSLContext, RequestError> = context.withLock { context in
      if let context { return .success(context) }
      do throws(RequestError) {
        let made = try OpenSSLContext(configuration)
        context = made
        return .success(made)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}
