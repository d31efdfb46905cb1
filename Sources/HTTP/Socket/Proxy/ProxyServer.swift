import Foundation

/// Where a proxy listens, and who it is told to be asking. The description shows no credentials.
struct ProxyServer: Hashable, Sendable, CustomStringConvertible {
  let host: String
  let port: Int

  /// The value of `Proxy-Authorization` (RFC 7617), made of the user and password in the proxy's URL.
  let authorization: String?

  /// Takes a URL such as `http://user:password@proxy:3128`, or without its scheme; `nil` where it is none of `http`.
  init?(_ text: String) {
    let url = text.contains("://") ? text : "http://\(text)"
    guard let components = URLComponents(string: url), components.scheme?.lowercased() == "http",
      let host = components.host?.lowercased(), !host.isEmpty
    else { return nil }
    self.host = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    port = components.port ?? 80
    authorization = components.user.map { user in
      "Basic \(Data("\(user):\(components.password ?? "")".utf8).base64EncodedString())"
    }
  }

  var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
