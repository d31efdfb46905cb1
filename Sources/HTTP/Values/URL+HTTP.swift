public import Foundation

extension URL {
  /// Throws `invalidRequest` unless this is an absolute `http` or `https` URL with a host, and without a user name, a
  /// password or a fragment.
  package func checkForHTTP() throws(RequestError) {
    _ = try HTTPTarget(self)
  }

  /// Whether the host is this machine: `localhost`, `127.0.0.0/8` or `::1`.
  package var isLoopback: Bool {
    host(percentEncoded: false)?.lowercased().isLoopbackHost ?? false
  }

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
    return (components.string?.removingPercentEncoding ?? components.string ?? "<unreadable URL>").harmless(upTo: 512)
  }
}
