/// A session ticket: an `SSL_SESSION` that OpenSSL has handed over.
final class SessionTicket: @unchecked Sendable {
  // An SSL_SESSION is not changed after it has been handed over, and its reference count is atomic.
  let handle: OpenSSL.Handle
  let birth = ContinuousClock.now
  let isForOneUse: Bool
  private let library: OpenSSL

  /// Takes over the caller's reference.
  init(_ handle: OpenSSL.Handle, library: OpenSSL) {
    self.handle = handle
    self.library = library
    isForOneUse = library.ticketVersion(handle) >= OpenSSL.Setting.tls13
  }

  deinit {
    library.ticketFree(handle)
  }
}
