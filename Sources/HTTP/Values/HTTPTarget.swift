package import Foundation

/// Where a request goes: its URL, taken apart once into what connections and messages need.
package final class HTTPTarget: Sendable {
  /// The URL itself.
  package let url: URL

  /// Whether the scheme is `https`.
  package let isSecure: Bool

  /// The host in lower case, an IPv6 address without its brackets; its zone as it was given.
  let host: String

  /// The port, which is the scheme's own where the URL names none.
  let port: Int

  /// Host and, unless it is the scheme's own, port, as the field `Host` has them (RFC 9110, section 7.2).
  let authority: String

  /// The path, never empty, and the query, as the first line of a message has them (RFC 9112, section 3.2.1).
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
  /// Whether a host in lower case is `localhost`, of the net `127.0.0.0/8`, or `::1`.
  var isLoopbackHost: Bool {
    if self == "localhost" || self == "::1" { return true }
    guard utf8.starts(with: "127.".utf8) else { return false }
    var (octets, octet, digits) = (0, 0, 0)
    for byte in utf8 {
      if byte.isDigit {
        // A leading zero makes the number octal, or a name: resolvers do not agree.
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
