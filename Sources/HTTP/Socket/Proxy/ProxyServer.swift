import Foundation

/// A proxy's address, and the credentials for it. The description does not show the credentials.
struct ProxyServer: Hashable, Sendable, CustomStringConvertible {
  let host: String
  let port: Int

  /// The value of `Proxy-Authorization` (RFC 7617), made from the user and password in the proxy's URL.
  let authorization: String?

  /// Takes a URL such as `http://user:password@proxy:3128`, with or without its scheme; returns `nil` if it is not a
  /// valid `http` URL.
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
