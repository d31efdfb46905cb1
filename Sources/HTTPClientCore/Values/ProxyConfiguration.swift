import SystemBase

/// Which requests go through a proxy. Requests to this machine never do.
public struct ProxyConfiguration: Hashable, Sendable {
  /// The proxy for `http` and the one for `https`, or why they cannot be used.
  private let http: Result<ProxyServer, RequestError>?
  private let https: Result<ProxyServer, RequestError>?
  private let exclusions: [Exclusion]

  /// No proxy.
  public static let none = ProxyConfiguration()

  /// The proxies in the environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, as for curl.
  ///
  /// `all_proxy` is that of schemes without one of their own. `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` are read, too,
  /// but not `HTTP_PROXY`: in a CGI program, that comes from a client's header. In `no_proxy`, items are separated by
  /// commas or blanks; see ``init(http:https:exclusions:)`` for what they may be.
  public static var environment: ProxyConfiguration {
    ProxyConfiguration(environment: ProcessInfo.processInfo.environment)
  }

  /// Sets the proxies. The connection to a proxy is not encrypted; `https` requests go through a tunnel. From then on
  /// every ``Redactor`` of the process removes their passwords.
  ///
  /// - Parameters:
  ///   - http: The URL of the proxy for `http`, with user and password if it requires them.
  ///   - https: The URL of the proxy for `https`.
  ///   - exclusions: Hosts to reach without a proxy: `example.com`, which includes its subdomains, as `.example.com`
  ///     does; an address; a block of addresses, such as `10.0.0.0/8` or `fd00::/8`, for hosts that are named by their
  ///     address; `*` means all. A port may follow a name or an address.
  public init(http: String? = nil, https: String? = nil, exclusions: [String] = []) {
    self.init(
      http: http.map { ($0, "The proxy for http") }, https: https.map { ($0, "The proxy for https") },
      exclusions: exclusions)
  }

  private typealias Named = (url: String, name: String)

  private init(http: Named?, https: Named?, exclusions: [String]) {
    self.http = http.map(Self.server)
    self.https = https.map(Self.server)
    self.exclusions = exclusions.compactMap(Exclusion.init)
  }

  private static func server(_ proxy: Named) -> Result<ProxyServer, RequestError> {
    do throws(RequestError) {
      let server = try ProxyServer(proxy.url)
      Redactor.addForAll(server.secrets)
      return .success(server)
    } catch {
      return .failure(
        RequestError(.invalidRequest, "\(proxy.name) cannot be used: \(error.message)", cause: WrongSettings()))
    }
  }

  init(environment: [String: String]) {
    func value(_ names: String...) -> Named? {
      names.lazy.compactMap { name in environment[name].map { ($0, "The proxy of the variable '\(name)'") } }
        .first { !$0.url.isEmpty }
    }
    let exclusions = value("no_proxy", "NO_PROXY")?.url.split { ", ".contains($0) }.map(String.init) ?? []
    self.init(
      http: value("http_proxy", "all_proxy", "ALL_PROXY"),
      https: value("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"), exclusions: exclusions)
  }

  /// The proxy for a request; throws `invalidRequest` if the configured one cannot be used.
  package func server(for target: HTTPTarget) throws(RequestError) -> ProxyServer? {
    guard let server = target.isSecure ? https : http, !target.isLoopback,
      !exclusions.contains(where: { $0.covers(target.host, port: target.port) })
    else { return nil }
    return try server.get()
  }

  /// A host with its subdomains, a block of addresses, or `*` for all hosts.
  struct Exclusion: Hashable {
    private let host: String
    private let port: Int?
    /// How many leading bits of the address count; `nil` for a name.
    private var prefix: Int?

    init?(_ text: String) {
      if let slash = text.firstIndex(of: "/") {
        host = String(text[..<slash])
        port = nil
        guard let length = Int(text[text.index(after: slash)...]), let address = Self.address(host),
          0...address.count * 8 ~= length
        else { return nil }
        prefix = length
        return
      }
      var host = text.lowercased()[...]
      var port: Int?
      // An IPv6 address without brackets has more than one colon.
      if let colon = host.lastIndex(of: ":"), host[..<colon].last == "]" || !host[..<colon].contains(":") {
        port = Int(host[host.index(after: colon)...])
        host = host[..<colon]
      }
      if host.hasPrefix("[") && host.hasSuffix("]") { host = host.dropFirst().dropLast() }
      host = host.drop { $0 == "." }
      while host.last == "." { host.removeLast() }
      guard !host.isEmpty else { return nil }
      self.host = String(host).canonicalIPv6 ?? String(host)
      self.port = port
    }

    func covers(_ host: String, port: Int) -> Bool {
      var host = host[...]
      while host.last == "." { host.removeLast() }
      if let prefix {
        guard let block = Self.address(self.host), let address = Self.address(String(host)),
          block.count == address.count
        else { return false }
        for bit in 0..<prefix {
          let mask = UInt8(0x80) >> UInt8(bit % 8)
          if (block[bit / 8] ^ address[bit / 8]) & mask != 0 { return false }
        }
        return true
      }
      return (self.port ?? port) == port && (self.host == "*" || host == self.host || host.hasSuffix(".\(self.host)"))
    }

    /// The bytes of an IPv4 or IPv6 address; `nil` if the text is none.
    private static func address(_ text: String) -> [UInt8]? {
      for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
        var bytes = [UInt8](repeating: 0, count: count)
        if inet_pton(family, text, &bytes) == 1 { return bytes }
      }
      return nil
    }
  }
}

/// A proxy's address, and the credentials for it. Neither its description nor `dump` shows the credentials.
package struct ProxyServer: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  package let host: String
  package let port: Int

  /// The value of `Proxy-Authorization` (RFC 7617), made from the user and password in the proxy's URL.
  package let authorization: String?

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
    // A user without a password may be a token; with one, it is often a name that stands elsewhere, too.
    let token = (components.password ?? "").isEmpty ? components.user : nil
    secrets = [authorization, user, token, components.password].compactMap(\.self)
    (components.user, components.password) = (nil, nil)
    (components.path, components.query, components.fragment) = ("", nil, nil)
    guard let url = components.url else { throw RequestError(.invalidRequest, "It is not a URL with a host.") }
    let target = try HTTPTarget(url)
    (host, port) = (target.host, target.port)
  }

  /// What `dump` shows: only the address.
  package var customMirror: Mirror { Mirror(self, children: [(label: "address", value: description)]) }

  package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
