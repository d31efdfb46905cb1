public import SystemBase

/// The destination of a request: its URL, parsed once into the parts that connections and messages need.
@usableFromInline
package final class HTTPTarget: Sendable {
  /// The URL that this was made from, and what was added to its query: that is parsed only where somebody asks for it,
  /// since parsing a URL takes longer than all the rest of a request.
  private let base: URL
  private let added: String?

  /// Whether the scheme is `https`.
  package let isSecure: Bool

  /// The host in lower case; an IPv6 address has no brackets, is in its canonical form (RFC 5952), and keeps its zone as it
  /// was given.
  package let host: String

  /// The port; if the URL has none, the default of the scheme.
  package let port: Int

  /// The host, and the port unless it is the scheme's default, as in the field `Host` (RFC 9110, section 7.2).
  package let authority: String

  /// The authority as in a URL: with the zone of an address, which is not sent, but tells servers apart.
  private let zonedAuthority: String

  /// The path, never empty, and the query, as in the request line (RFC 9112, section 3.2.1).
  package let path: String

  /// Throws `invalidRequest` unless this is an absolute `http` or `https` URL with a host, and without a user name, a
  /// password or a fragment.
  package init(_ url: URL) throws(RequestError) {
    var text = url.absoluteString
    let result = text.withUTF8 { text -> Result<URLParts, RequestError> in
      do throws(RequestError) { return .success(try URLParts(text, of: url)) } catch { return .failure(error) }
    }
    let parts = try result.get()
    base = url
    added = nil
    isSecure = parts.isSecure
    host = parts.host
    port = parts.port ?? (isSecure ? 443 : 80)
    let suffix = port == (isSecure ? 443 : 80) ? "" : ":\(port)"
    if parts.isIPv6 {
      // RFC 6874, section 4: a zone means nothing to the server.
      authority = "[\(host.prefix { $0 != "%" })]" + suffix
      zonedAuthority = "[\(host.replacing("%", with: "%25"))]" + suffix
    } else {
      authority = host + suffix
      zonedAuthority = authority
    }
    path = parts.path
  }

  private init(_ other: HTTPTarget, adding text: String) {
    base = other.base
    added = (other.added ?? "") + text
    isSecure = other.isSecure
    host = other.host
    port = other.port
    authority = other.authority
    zonedAuthority = other.zonedAuthority
    path = other.path + text
  }

  /// The target with more in its query: names and values that are percent-encoded, such as `a=1&b=2`.
  package func adding(query: String) -> HTTPTarget {
    let joint =
      switch path.utf8.lastIndex(of: .questionMark) {
      case nil: "?"
      case path.utf8.index(before: path.utf8.endIndex)?: ""
      default: "&"
      }
    return HTTPTarget(self, adding: joint + query)
  }

  /// The text of the URL, with the host in lower case and without the scheme's default port: equal for equal resources,
  /// and different for one address in two zones.
  package var text: String {
    var text = isSecure ? "https://" : "http://"
    text.reserveCapacity(length)
    text += zonedAuthority
    text += path
    return text
  }

  /// How many bytes ``text`` has.
  package var length: Int { (isSecure ? 8 : 7) + zonedAuthority.utf8.count + path.utf8.count }

  /// The URL, as it was given, with what was added.
  package var url: URL {
    guard let added else { return base }
    guard let url = URL(string: base.absoluteString + added) else {
      preconditionFailure("What was added to a query is not percent-encoded.")
    }
    return url
  }

  /// Whether the host is this machine.
  package var isLoopback: Bool { host.isLoopbackHost }
}

extension HTTPTarget: CustomStringConvertible, CustomReflectable {
  /// The address without the values of its query, which may be secrets.
  @usableFromInline package var description: String { url.shownSafely }

  @usableFromInline package var customMirror: Mirror { Mirror(self, children: [(label: "url", value: description)]) }
}

extension String {
  /// Whether this is a loopback host, given in the form of a target's: `localhost`, an address in `127.0.0.0/8`, or `::1`.
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

/// The parts of a URL's text (RFC 3986, section 3).
struct URLParts {
  typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

  let isSecure: Bool
  let host: String
  /// Whether the host is an IPv6 address.
  let isIPv6: Bool
  let port: Int?
  let path: String

  init(_ text: UnsafeBufferPointer<UInt8>, of url: URL) throws(RequestError) {
    let start: Int
    if text.hasPrefix("http://") {
      (isSecure, start) = (false, 7)
    } else if text.hasPrefix("https://") {
      (isSecure, start) = (true, 8)
    } else {
      throw url.refused("'\(url.shownSafely)' is not an http or https URL with a host.")
    }
    let end = text[start...].firstIndex { $0 == .slash || $0 == .questionMark || $0 == .hash } ?? text.endIndex
    let (authority, path) = (text[start..<end], text[end...])
    if authority.contains(.at) {
      throw url.refused("'\(url.shownSafely)' holds a user name or a password: use a header.")
    }
    if path.contains(.hash) {
      throw url.refused("'\(url.shownSafely)' has a fragment, which no server sees: leave '#…' out.")
    }
    guard path.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw url.refused("The path of '\(url.shownSafely)' is not percent-encoded.")
    }
    let (name, port) = Self.split(authority)
    guard port.map({ 1...65535 ~= $0 }) ?? true else {
      throw url.refused("The port of '\(url.shownSafely)' is not one of 1 to 65535.")
    }
    guard let host = Self.host(name) else {
      throw url.refused("'\(url.shownSafely)' has no valid host.")
    }
    self.host = host
    isIPv6 = name.first == UInt8(ascii: "[")
    self.port = port
    let text = String(decoding: path, as: UTF8.self)
    self.path = path.first == .slash ? text : "/" + text
  }

  /// The name, and the port: `nil` if there is none, and over 65,535 if it is too large.
  private static func split(_ authority: Bytes) -> (name: Bytes, port: Int?) {
    guard let colon = authority.lastIndex(where: { !$0.isDigit }), authority[colon] == .colon else {
      return (authority, nil)
    }
    let digits = authority[(colon + 1)...]
    let port = digits.reduce(0) { min($0 * 10 + Int($1 - 0x30), 1 << 20) }
    return (authority[..<colon], digits.isEmpty ? nil : port)
  }

  /// A host name or an address in the form that resolvers take; `nil` if it is neither.
  private static func host(_ bytes: Bytes) -> String? {
    guard bytes.first == UInt8(ascii: "[") else {
      guard !bytes.isEmpty, bytes.allSatisfy(\.isHostByte) else { return nil }
      let name = String(decoding: bytes, as: UTF8.self)
      return bytes.contains { $0.isUpperCase } ? name.lowercased() : name
    }
    guard bytes.last == UInt8(ascii: "]") else { return nil }
    let inside = String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
    // RFC 6874: a zone follows an encoded percent sign. It names an interface, and is case-sensitive.
    let parts = inside.split(separator: "%25", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = parts.first.flatMap({ String($0).canonicalIPv6 }),
      parts.dropFirst().allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isHostByte) })
    else { return nil }
    return ([address] + parts.dropFirst().map(String.init)).joined(separator: "%")
  }
}

extension String {
  /// The one form of an IPv6 address without a zone (RFC 5952), since each can be written in many; `nil` if this is none.
  var canonicalIPv6: String? {
    var address = in6_addr()
    guard !utf8.contains(0), inet_pton(AF_INET6, self, &address) == 1 else { return nil }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
      inet_ntop(AF_INET6, &address, text.baseAddress, socklen_t(text.count)).map { String(cString: $0) }
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Whether this begins with `prefix`, which is in lower case, regardless of case.
  fileprivate func hasPrefix(_ prefix: StaticString) -> Bool {
    count >= prefix.utf8CodeUnitCount
      && prefix.withUTF8Buffer { prefix in
        prefix.indices.allSatisfy { self[$0] == prefix[$0] || self[$0].isUpperCase && self[$0] | 0x20 == prefix[$0] }
      }
  }
}

extension UInt8 {
  fileprivate static var slash: UInt8 { UInt8(ascii: "/") }
  fileprivate static var questionMark: UInt8 { UInt8(ascii: "?") }
  fileprivate static var hash: UInt8 { UInt8(ascii: "#") }
  fileprivate static var at: UInt8 { UInt8(ascii: "@") }

  fileprivate var isLetterOrDigit: Bool { isDigit || 0x61...0x7A ~= self | 0x20 }

  /// Whether this may occur in a host name.
  fileprivate var isHostByte: Bool {
    isLetterOrDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: ".") || self == UInt8(ascii: "_")
      || self == UInt8(ascii: "~")
  }
}

extension URL {
  fileprivate func refused(_ message: String) -> RequestError { RequestError(.invalidRequest, message) }
}

extension URL {
  /// The URL for logs and errors, without what may be secret: user, password and the values of the query. A part of the
  /// query without a name counts as a value.
  public var shownSafely: String {
    guard var components = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "<unreadable URL>" }
    components.user = nil
    components.password = nil
    components.fragment = nil
    components.queryItems = components.queryItems?.map { item in
      item.value == nil ? URLQueryItem(name: "…", value: nil) : URLQueryItem(name: item.name, value: "…")
    }
    var text = components.string?.percentDecoded ?? components.string ?? "<unreadable URL>"
    // Without "//", the user is taken for the scheme, and the password for a part of the path.
    if components.host == nil, let end = text.utf8.lastIndex(of: UInt8(ascii: "@")) { text = "…" + text[end...] }
    return text.sanitized(upTo: 512)
  }
}

extension String {
  /// The text without percent-encoding (RFC 3986, section 2.1); `nil` if that is malformed, or does not encode UTF-8.
  package var percentDecoded: String? {
    var bytes: [UInt8] = []
    var rest = utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst()?.hexDigitValue, let low = rest.popFirst()?.hexDigitValue else { return nil }
      bytes.append(UInt8(high << 4 | low))
    }
    return String(validating: bytes, as: UTF8.self)
  }
}

/// Scheme, host and port, which together identify a server (RFC 6454, section 4).
///
/// Middlewares that track the health of servers do so per origin.
public struct HTTPOrigin: Hashable, Sendable, CustomStringConvertible {
  /// The scheme in lower case.
  public let scheme: String

  /// The host in lower case; an IPv6 address has no brackets, is in its canonical form (RFC 5952), and keeps its zone as it
  /// was given.
  public let host: String

  /// The port; if the URL has none, the default of the scheme.
  public let port: Int

  /// The origin of a URL.
  public init(of url: URL) {
    if let target = try? HTTPTarget(url) {
      self.init(target)
    } else {
      let scheme = url.scheme?.lowercased() ?? ""
      self.init(scheme: scheme, host: url.host()?.lowercased() ?? "", port: url.port ?? (scheme == "https" ? 443 : 80))
    }
  }

  init(_ target: HTTPTarget) {
    self.init(scheme: target.isSecure ? "https" : "http", host: target.host, port: target.port)
  }

  package init(scheme: String, host: String, port: Int) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  /// The origin as in a URL: `https://bff.example.com:443`.
  public var description: String {
    let name = host.contains(":") ? "[\(host.replacing("%", with: "%25"))]" : host
    return "\(scheme)://\(name):\(port)".sanitized(upTo: 512)
  }
}

extension HTTPRequest {
  /// The origin that the request goes to.
  public var origin: HTTPOrigin { HTTPOrigin(target) }
}
