import CommandLineBase
import HTTPClientCore
import SocketHTTP
import SystemBase

#if URLSession
  import URLSessionHTTP
#endif

/// The URL of a GraphQL endpoint.
struct Endpoint: Equatable, Sendable {
  /// The environment variable that is read if `--endpoint` is not given.
  static let variable = "MOMENTS_ENDPOINT"

  let url: URL
  private let isConfidential: Bool
  private let source: String

  /// Takes an absolute `https` or `http` URL.
  ///
  /// - Parameter source: Where the text comes from, for the error; the text itself may contain a secret, and is not
  ///   shown.
  init(_ text: String, from source: String) throws(UsageError) {
    // Foundation would repair text that is not a URL by RFC 3986, percent-encode its host, and drop a port that is out
    // of range.
    guard
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      let parts = URLComponents(string: text, encodingInvalidCharacters: false),
      let url = parts.url, parts.rangeOfHost.map({ !text[$0].contains("%") }) ?? false,
      parts.port != nil || parts.rangeOfPort.map({ text[$0].isEmpty }) ?? true
    else {
      throw UsageError("\(source) is no http or https URL; write it like https://api.example.com/graphql")
    }
    guard parts.user == nil, parts.password == nil else {
      throw UsageError("\(source) holds a user or a password; take it out and set \(BearerToken.variable) instead")
    }
    do throws(RequestError) {
      isConfidential = try HTTPRequest(method: .post, url: url).isConfidential
    } catch {
      throw UsageError("\(source): \(error.message)")
    }
    self.url = url
    self.source = source
  }

  /// Throws if requests would go to another machine in clear text.
  func checkCleartext() throws(UsageError) {
    guard isConfidential else {
      let host = url.host() ?? ""
      throw UsageError("\(source) would send everything in clear text to '\(host)'; use https, or --allow-cleartext")
    }
  }
}

/// A token for the server, whose value no description, dump or mirror shows.
struct BearerToken: Equatable, Sendable {
  /// The environment variable with the token.
  static let variable = "MOMENTS_TOKEN"

  /// The environment variable with the refresh token.
  static let refreshVariable = "MOMENTS_REFRESH_TOKEN"

  /// The token itself.
  let value: String

  /// Takes a token of visible ASCII characters, the only ones that a header can carry unchanged (RFC 9110, section
  /// 5.5).
  init(_ text: String, from variable: String = Self.variable) throws(UsageError) {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw UsageError(
        "\(variable) holds a blank or another character that a header cannot carry; set it to the token alone")
    }
    value = text
  }

  /// The value of the `Authorization` header (RFC 6750, section 2.1).
  var authorization: String { "Bearer \(value)" }
}

extension BearerToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  var description: String { "<redacted>" }
  var debugDescription: String { description }
  var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPField {
  /// Parses a field from `--header 'Name: value'`; the error never shows the value, which may be a secret.
  init(argument text: String) throws(UsageError) {
    let field = try HeaderField(argument: text, credentialsIn: BearerToken.variable)
    do {
      try self.init(name: field.name, value: field.value)
    } catch {
      throw UsageError("--header: \(error.message)")
    }
  }
}

/// Parses `--timeout`, the greatest time that a run may take, and other times.
enum Timeout {
  /// The permitted values, in seconds: a millisecond to a day.
  static let seconds = 0.001...86_400.0

  /// Parses seconds: decimal digits, with a point before a fraction, in any locale.
  static func duration(_ text: String, of option: String = "--timeout") throws(UsageError) -> Duration {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let isDecimal =
      parts.count <= 2 && parts.contains { !$0.isEmpty }
      && parts.allSatisfy { $0.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }
    guard isDecimal, let value = Double(text), seconds.contains(value) else {
      throw UsageError("\(option) is '\(text)', which is no number of seconds from 0.001 to 86400; write it like 2.5")
    }
    return .seconds(value)
  }
}

/// How the command connects to a server: the transport, and its TLS settings.
struct TransportOptions: Equatable, Sendable {
  /// The transports. That on `URLSession` is in the command if it was built with the package's trait `URLSession`.
  enum Kind: String {
    case socket, urlsession
  }

  var kind: Kind?

  /// The versions of HTTP given by `--http`.
  var versions: SocketTransport.Configuration.HTTPVersions?

  /// A file of certificates to trust in addition to the system's.
  var authority: String?

  /// The files with the command's own certificate and its key.
  var certificate: String?
  var key: String?

  /// The contents of the files when they were checked: a pipe can be read only once.
  private(set) var tls = TLSConfiguration()

  /// Reads the files; throws if the options do not go together, or a file does not contain what it should.
  mutating func check() throws(UsageError) {
    #if !URLSession
      guard kind != .urlsession else {
        throw UsageError(
          "--transport urlsession is not in this build; use --transport socket, or build with --traits SocketHTTP,URLSession"
        )
      }
    #endif
    guard kind != .urlsession || versions == nil else {
      throw UsageError("--http does not go with --transport urlsession; use --transport socket")
    }
    guard (certificate == nil) == (key == nil) else {
      throw UsageError("--cert and --key go together; give both, or the same file twice")
    }
    let authority = try pem("--ca", authority)
    let certificates = try pem("--cert", certificate)
    let privateKey = key == certificate ? certificates : try pem("--key", key)
    guard authority != nil || certificates != nil else { return }
    if let certificates, let privateKey {
      tls.identity = ClientIdentity(certificates: certificates, privateKey: privateKey)
    }
    do throws(RequestError) {
      // Loading the system's certificates as well would take time, and is not needed to check these files.
      let trust = authority.map { CertificateTrust.only($0) } ?? .only()
      try TLSConfiguration(trust: trust, identity: tls.identity).check()
    } catch {
      throw UsageError(error.message)
    }
    if let authority { tls.trust = .systemAnd(authority) }
  }

  private func pem(_ option: String, _ file: String?) throws(UsageError) -> PEM? {
    guard let file else { return nil }
    guard kind != .urlsession else {
      throw UsageError("\(option) does not go with --transport urlsession; use --transport socket")
    }
    guard let pem = try? PEM.reading(file) else {
      throw UsageError("\(option): '\(file)' is not a readable file")
    }
    return pem
  }

  /// The configured transport.
  func transport() -> any HTTPTransport {
    #if URLSession
      if kind == .urlsession { return URLSessionTransport() }
    #endif
    var configuration = SocketTransport.Configuration()
    configuration.tls = tls
    if let versions { configuration.httpVersions = versions }
    return SocketTransport(configuration: configuration)
  }
}
