/// The command's options, which begin with two dashes.
enum Option: String, CaseIterable {
  case user, endpoint, timeout, retries, header
  case transport, ca, cert, key
  case policy
  case cacheDir = "cache-dir"
  case json, verbose, help, version
  case noLikes = "no-likes"
  case allowCleartext = "allow-cleartext"

  /// Whether a value follows, in the next argument or after `=`.
  var takesValue: Bool {
    switch self {
    case .user, .endpoint, .timeout, .retries, .header, .transport, .ca, .cert, .key, .policy, .cacheDir: true
    case .json, .verbose, .help, .version, .noLikes, .allowCleartext: false
    }
  }

  /// Whether the option may be given more than once.
  var isRepeatable: Bool { !takesValue || self == .header }
}
