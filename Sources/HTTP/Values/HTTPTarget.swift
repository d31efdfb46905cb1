package import Foundation

/// The destination of a request: its URL, parsed once into the parts that connections and messages need.
package final class HTTPTarget: Sendable {
  /// The URL itself.
  package let url: URL

  /// Whether the scheme is `https`.
  package let isSecure: Bool

  /// The host in lower case; an IPv6 address has no brackets, and keeps its zone as it was given.
  let host: String

  /// The port; if the URL has none, the default of the scheme.
  let port: Int

  /// The host, and the port unless it is the scheme's default, as in the field `Host` (RFC 9110, section 7.2).
  let authority: String

  /// The path, never empty, and the query, as in the request line (RFC 9112, section 3.2.1).
  let path: String

  /// Throws `invalidRequest` unless this is an absolute `http` or `https` URL with a host, and without a user name, a
  /// password or a fragment.
  package init(_ url: URL) throws(RequestError) {
    var text = url.absoluteString
    let result = text.withUTF8 { text -> Result<URLParts, RequestError> in
      do throws(RequestError) { return .success(try URLParts(text, of: url)) } catch { return .failure(error) }
    }
    let parts = try result.get()
    self.url = url
    isSecure = parts.isSecure
    host = parts.host
    port = parts.port ?? (isSecure ? 443 : 80)
    // RFC 6874, section 4: a zone means nothing to the server.
    let name = parts.isIPv6 ? "[\(host.prefix { $0 != "%" })]" : host
    authority = port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    path = parts.path
  }

  /// Whether the host is this machine.
  package var isLoopback: Bool { host.isLoopbackHost }
}

extension String {
  /// Whether this is a loopback host, given in lower case: `localhost`, an address in `127.0.0.0/8`, or `::1`.
  var isLoopbackHost: Bool {
    if self == "localhost" || self == "::1" { return true }
    guard utf8.starts(with: "127.".utf8) else { return false }
    var (octets, octet, digits) = (0, 0, 0)
    for byte in utf8 {
      if byte.isDigit {
        // With a leading zero, resolvers disagree: some read an octal number, some a name.
        guard digits == 0 || octet > 0 else { return false }
        octet = octet * 10 + Int(byte - 0x30)
        digits += 1
        if octet > 255 { return false }
      } else {
        guard byte == UInt8(ascii: "."), digits > 0 else { return false }
        octets += 1
        (octet, digits) = (0, 0)
      }
    }
    return octets == 3 && digits > 0
  }
}
