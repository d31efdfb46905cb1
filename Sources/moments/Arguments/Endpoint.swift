import Foundation

/// The address of a GraphQL endpoint that the command may talk to.
struct Endpoint: Equatable, Sendable {
  /// The variable of the environment that is read where `--endpoint` is not given.
  static let variable = "MOMENTS_ENDPOINT"

  let url: URL

  /// Takes an absolute `https` URL, or an `http` URL of this machine.
  ///
  /// - Parameter source: Where the text comes from, for the error; the text itself may hold a secret and is not shown.
  init(_ text: String, from source: String) throws(UsageError) {
    guard
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      var parts = URLComponents(string: text, encodingInvalidCharacters: false),
      let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
      let host = parts.percentEncodedHost, !host.isEmpty, !host.contains("%"),
      (1...65535).contains(parts.port ?? 443)
    else {
      throw UsageError("\(source) is not an http or https URL; write it like https://api.example.com/graphql")
    }
    guard parts.user == nil, parts.password == nil else {
      throw UsageError("\(source) has a user or a password in it; take it out and set \(BearerToken.variable) instead")
    }
    guard parts.fragment == nil else {
      throw UsageError("\(source) ends in a fragment ('#...'), which is never sent; take it out")
    }
    guard scheme == "https" || Self.isLoopback(host) else {
      throw UsageError("\(source) would send cleartext to '\(host)'; use https, or http with localhost alone")
    }
    parts.scheme = scheme
    guard let url = parts.url else {
      throw UsageError("\(source) is not an http or https URL; write it like https://api.example.com/graphql")
    }
    self.url = url
  }

  /// Whether a host is this machine: `localhost`, 127.0.0.0/8 in its four-part form, or `::1`.
  static func isLoopback(_ host: String) -> Bool {
    if host.lowercased() == "localhost" { return true }
    if host.hasPrefix("["), host.hasSuffix("]") {
      var address = in6_addr()
      guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address) == 1 else { return false }
      return withUnsafeBytes(of: address) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
    }
    var address = in_addr()
    guard inet_pton(AF_INET, host, &address) == 1 else { return false }
    return UInt32(bigEndian: address.s_addr) >> 24 == 127
  }
}
