#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The name that a server's certificate must be for: a host name or an IP address.
struct ServerName {
  /// In lower case, without brackets, without the zone of an address, and without the dot at the end of a name.
  let text: String

  /// Whether it is an IP address (IPv4 with four numbers, or IPv6).
  let isAddress: Bool

  init(_ host: String) {
    let lowercased = host.lowercased()
    let isBracketed = lowercased.hasPrefix("[") && lowercased.hasSuffix("]")
    let bare = isBracketed ? String(lowercased.dropFirst().dropLast()) : lowercased
    let unzoned = bare.contains(":") ? String(bare.prefix { $0 != "%" }) : bare
    var address = in6_addr()
    if inet_pton(AF_INET, unzoned, &address) == 1 || inet_pton(AF_INET6, unzoned, &address) == 1 {
      (text, isAddress) = (unzoned, true)
    } else {
      (text, isAddress) = (bare.hasSuffix(".") ? String(bare.dropLast()) : bare, false)
    }
  }
}
