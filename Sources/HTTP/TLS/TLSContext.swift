/// What the sessions of one configuration share: OpenSSL's context, made once, and the tickets to resume with.
///
/// For any thread.
package final class TLSContext: Sendable {
  let tickets: TicketStore
  private let configuration: TLSConfiguration
  private let context = Locked<OpenSSLContext?>(nil)

  /// Makes a context; this costs nothing yet.
  package init(_ configuration: TLSConfiguration) {
    self.configuration = configuration
    tickets = TicketStore()
  }

  /// Loads OpenSSL and reads the certificates, unless that is done: some 55 ms for those of a system, in which all
  /// others who need this context wait. To be called where that hurts nobody, before the first session.
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
