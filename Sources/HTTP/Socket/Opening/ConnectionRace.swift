/// Decides which of a host's addresses to try next (RFC 8305, sections 4 and 5): IPv6 and IPv4 alternate, each a
/// quarter of a second after the one before it, or at once if that one failed. The first to connect wins.
///
/// The look-up before it waits for the addresses of both families, as `getaddrinfo` does, not for one (section 3).
struct ConnectionRace {
  /// The delay between two attempts (section 5).
  static let attemptDelay = Duration.milliseconds(250)

  private var waiting: [SocketAddress]
  private var running = 0
  private(set) var failures: [String] = []
  /// Why the attempts failed: the last error that is not a shortage of this machine, if there is one.
  private(set) var error: SystemError?

  /// Takes the addresses in the system's order, the preferred first; those that are known to be silent are tried last.
  init(_ addresses: [SocketAddress], silent: SilentAddresses = SilentAddresses()) {
    // Section 4: the families alternate, beginning with the preferred one.
    let preferred = addresses.filter { $0.family == addresses.first?.family }
    let others = addresses.filter { $0.family != addresses.first?.family }
    var waiting: [SocketAddress] = []
    for index in 0..<max(preferred.count, others.count) {
      if index < preferred.count { waiting.append(preferred[index]) }
      if index < others.count { waiting.append(others[index]) }
    }
    self.waiting = silent.moveLast(of: waiting, at: .now)
  }

  /// Whether all addresses have failed.
  var isLost: Bool { waiting.isEmpty && running == 0 }

  /// The next address to try: at the start, when an attempt has failed, and when the delay has passed.
  mutating func next() -> SocketAddress? {
    guard !waiting.isEmpty else { return nil }
    running += 1
    return waiting.removeFirst()
  }

  /// Records that an attempt has failed.
  mutating func fail(_ address: SocketAddress, _ error: SystemError) {
    running -= 1
    failures.append("\(address): \(error)")
    if self.error == nil || !error.isShortage { self.error = error }
  }
}
