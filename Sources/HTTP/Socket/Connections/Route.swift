/// What two requests must have in common to share a connection.
struct Route: Hashable, Sendable {
  /// The server's host in lower case, without brackets.
  var host: String

  /// The server's port.
  var port: Int

  /// Whether TLS is used.
  var isSecure: Bool

  /// The path of a Unix domain socket to use instead of the network.
  var unixPath: String?

  /// The proxy to ask for a tunnel to the server.
  var tunnel: ProxyServer?
}
