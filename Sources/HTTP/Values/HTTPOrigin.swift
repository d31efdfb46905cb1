public import Foundation

/// Scheme, host and port, which together identify a server (RFC 6454, section 4).
///
/// Middlewares that track the health of servers do so per origin.
public struct HTTPOrigin: Hashable, Sendable, CustomStringConvertible {
  /// The scheme in lower case.
  public let scheme: String

  /// The host in lower case; an IPv6 address has no brackets, and keeps its zone as it was given.
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

  init(scheme: String, host: String, port: Int) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  /// The origin as in a URL: `https://bff.example.com:443`.
  public var description: String {
    let name = host.contains(":") ? "[\(host.replacing("%", with: "%25"))]" : host
    return "\(scheme)://\(name):\(port)".harmless(upTo: 512)
  }
}

extension HTTPRequest {
  /// The origin that the request goes to.
  public var origin: HTTPOrigin { HTTPOrigin(target) }
}
