import Foundation

/// A proxy's address, and the credentials for it. Neither its description nor `dump` shows the credentials.
struct ProxyServer: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  let host: String
  let port: Int

  /// The value of `Proxy-Authorization` (RFC 7617), made from the user and password in the proxy's URL.
  let authorization: String?

  /// Everything that identifies this client to the proxy: the value of the field, and the user and password in it.
  let secrets: [String]

  /// Takes a URL such as `http://user:password@proxy:3128`, with or without its scheme; throws `invalidRequest` if it
  /// is not a valid `http` URL. The error does not contain user and password.
  init(_ text: String) throws(RequestError) {
    guard var components = URLComponents(string: text.contains("://") ? text : "http://\(text)"),
      components.scheme?.lowercased() == "http", components.host?.isEmpty == false
    else { throw RequestError(.invalidRequest, "It is not a URL such as 'http://proxy.example:3128'.") }
    guard components.user?.contains(":") != true else {
      throw RequestError(.invalidRequest, "Its user has a colon, which would end the name (RFC 7617, section 2).")
    }
    let user = components.user.map { "\($0):\(components.password ?? "")" }
    authorization = user.map { "Basic \(Data($0.utf8).base64EncodedString())" }
    secrets = [authorization, user, components.password].compactMap(\.self)
    (components.user, components.password) = (nil, nil)
    (components.path, components.query, components.fragment) = ("", nil, nil)
    guard let url = components.url else { throw RequestError(.invalidRequest, "It is not a URL with a host.") }
    let target = try HTTPTarget(url)
    (host, port) = (target.host, target.port)
  }

  /// What `dump` shows: only the address.
  var customMirror: Mirror { Mirror(self, children: [(label: "address", value: description)]) }

  var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
