/// Addresses that did not answer while another one of the same host did. They are tried last for a while, since each
/// attempt at one that is tried first costs a quarter of a second (RFC 8305, section 4, has clients prefer addresses
/// that they know to work).
///
/// The winners are not preferred: a host's addresses share its load.
struct SilentAddresses {
  private static let limit = 256
  private static let memory = Duration.seconds(300)

  private var ends: [SocketAddress: Instant] = [:]

  /// The addresses in order, but those that are silent last.
  func moveLast(of addresses: [SocketAddress], at now: Instant) -> [SocketAddress] {
    if ends.isEmpty { return addresses }
    let isSilent = { address in ends[address].map { now < $0 } ?? false }
    return addresses.filter { !isSilent($0) } + addresses.filter(isSilent)
  }

  /// Records that an address has answered, and that others had not by then though they were tried before.
  mutating func note(_ winner: SocketAddress, before silent: [SocketAddress], at now: Instant) {
    ends[winner] = nil
    for address in silent {
      if ends.count >= Self.limit, ends[address] == nil { makeRoom(at: now) }
      ends[address] = now + Self.memory
    }
  }

  private mutating func makeRoom(at now: Instant) {
    ends = ends.filter { now < $0.value }
    guard ends.count >= Self.limit, let first = ends.min(by: { $0.value < $1.value }) else { return }
    ends[first.key] = nil
  }
}
