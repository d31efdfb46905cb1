import HTTPClientCore
import Streams
import SystemBase

/// Stores the tickets that servers give for resuming sessions, which halves the cost of a handshake.
///
/// Tickets are stored per origin, because a resumed session is not verified again: the ticket stands for the
/// verification of the host that gave it. A ticket is used for at most an hour. Thread-safe.
final class TicketStore: Sendable {
  private static let originLimit = 256
  private static let limitPerOrigin = 4
  private static let lifetime = Duration.seconds(3600)

  private let tickets = Locked<[String: [SessionTicket]]>([:])

  /// Stores a ticket; if there are too many, the oldest are dropped.
  func add(_ ticket: SessionTicket, for origin: String) {
    tickets.withLock { tickets in
      if tickets[origin] == nil, tickets.count >= Self.originLimit {
        let oldest = tickets.min { ($0.value.last?.birth ?? .now) < ($1.value.last?.birth ?? .now) }
        if let oldest { tickets[oldest.key] = nil }
      }
      tickets[origin] = (tickets[origin, default: []] + [ticket]).suffix(Self.limitPerOrigin)
    }
  }

  /// The newest ticket for an origin. A TLS 1.3 ticket is returned only once (RFC 8446, appendix C.4).
  func take(for origin: String, at now: ContinuousClock.Instant = .now) -> SessionTicket? {
    tickets.withLock { tickets in
      let usable = tickets[origin, default: []].filter { $0.birth.duration(to: now) < Self.lifetime }
      let newest = usable.last
      let rest = newest?.isForOneUse == true ? usable.dropLast() : usable
      tickets[origin] = rest.isEmpty ? nil : rest
      return newest
    }
  }
}

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
