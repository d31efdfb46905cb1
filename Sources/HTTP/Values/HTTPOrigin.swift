public import Foundation

/// Scheme, host and port: what tells one server from another (RFC 6454, section 4).
///
/// Middlewares that keep count of a server's health keep it per origin.
public struct HTTPOrigin: Hashable, Sendable, CustomStringConvertible {
  /// The scheme in lower case.
  public let scheme: String

  /// The host in lower case, an IPv6 address without its brackets; its zone as it was given.
  public let host: String

  /// The port, which is the scheme's own where the URL names none.
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

  private init(scheme: String, host: String, port: Int) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  /// As a URL has it: `https://bff.example.com:443`.
  public var description: String {
    let name = host.contains(":") ? "[\(host.replacing("%", with: "%25"))]" : host
    return "\(scheme)://\(name):\(port)".harmless(upTo: 512)
  }
}

extension HTTPRequest {
  /// Where the request goes.
  public var origin: HTTPOrigin { HTTPOrigin(target) }
}
