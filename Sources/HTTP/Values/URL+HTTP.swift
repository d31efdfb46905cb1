public import Foundation

extension URL {
  /// Throws `invalidRequest` unless this is an absolute `http` or `https` URL with a host, and without a user name, a
  /// password or a fragment.
  public func checkForHTTP() throws(RequestError) {
    guard let scheme = scheme?.lowercased(), scheme == "http" || scheme == "https" else {
      throw RequestError(.invalidRequest, "'\(shownSafely)' is no http or https URL.")
    }
    guard let host = host(percentEncoded: false), host.isHost else {
      throw RequestError(.invalidRequest, "'\(shownSafely)' names no host, or none that there can be.")
    }
    guard user() == nil, password() == nil else {
      throw RequestError(.invalidRequest, "The URL of '\(host)' holds a user name or a password: use a header.")
    }
    guard fragment() == nil else {
      throw RequestError(.invalidRequest, "'\(shownSafely)' has a fragment, which no server sees: leave '#…' out.")
    }
    guard (port ?? 80) > 0, (port ?? 80) <= 65535 else {
      throw RequestError(.invalidRequest, "The port of '\(shownSafely)' is not one of 1 to 65535.")
    }
  }

  /// Whether the host is this machine: `localhost`, `127.0.0.0/8` or `::1`.
  public var isLoopback: Bool {
    guard let host = host(percentEncoded: false)?.lowercased() else { return false }
    let octets = host.split(separator: ".", omittingEmptySubsequences: false)
    return ["localhost", "::1"].contains(host)
      || (octets.count == 4 && octets[0] == "127"
        && octets.allSatisfy { UInt8($0) != nil && $0.allSatisfy(\.isNumber) })
  }

  /// The URL for logs and errors: without what may be secret, which is user, password, and the values of the query.
  public var shownSafely: String {
    guard var components = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "<unreadable URL>" }
    components.user = nil
    components.password = nil
    components.fragment = nil
    components.queryItems = components.queryItems?.map { URLQueryItem(name: $0.name, value: $0.value.map { _ in "…" }) }
    return (components.string?.removingPercentEncoding ?? components.string ?? "<unreadable URL>").harmless(upTo: 512)
  }
}

extension String {
  /// Whether this is a host's name or address as resolvers take it; an address of IPv6 may have a zone (RFC 6874).
  fileprivate var isHost: Bool {
    let isName = !isEmpty && utf8.allSatisfy { $0.isLetterOrDigit || "-._~".utf8.contains($0) }
    let address = prefix { $0 != "%" }
    let zone = dropFirst(address.count + 1)
    return isName
      || (address.contains("::") || address.count { $0 == ":" } == 7)
        && address.utf8.allSatisfy { $0.isLetterOrDigit || ":.".utf8.contains($0) }
        && zone.utf8.allSatisfy { $0.isLetterOrDigit || "-._~".utf8.contains($0) }
  }
}

extension UInt8 {
  fileprivate var isLetterOrDigit: Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
      || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
  }
}
