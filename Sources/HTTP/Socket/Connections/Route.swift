/// What two requests must have in common to share a connection.
struct Route: Hashable, Sendable {
  /// The server's host in lower case, without brackets.
  var host: String

  /// The server's port.
  var port: Int

  /// Whether TLS is spoken.
  var isSecure: Bool

  /// The path of a Unix domain socket, in the place of the network.
  var unixPath: String?
}

extension Route: CustomStringConvertible {
  /// The server for people.
  var description: String {
    let name = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    return unixPath.map { "\(name) (\($0))" } ?? name
  }
}
